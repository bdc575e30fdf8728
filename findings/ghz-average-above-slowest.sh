#!/usr/bin/env bash
# ghz leaves errors out of its percentiles and in its average: an average of 100 ms, the slowest below 50 ms.
#
# ghz 0.93.0 has --count-errors, "count erroneous (non-OK) responses in stats calculations", so without it one expects
# statistics of the good replies. Slowest, fastest, the histogram and the percentiles are that; Average and Requests/sec are
# of all. Of twenty calls each second one misses its deadline of 200 ms and the others are done at once: 100 ms is an average
# of nothing that happened, above the slowest. Calls that fail at once pull it down below the true one in the same way.
#
# Seen on 2026-11-29 (go1.26.8):
#   20 calls, 10 OK, 10 DeadlineExceeded
#   default:        average from 95 to 150 ms, slowest below 50 ms
#   --count-errors: average from 95 to 150 ms, slowest 200 ms or more
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

type server struct {
	health.UnimplementedHealthServer
	calls atomic.Int64
}

func (s *server) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if s.calls.Add(1)%2 == 0 {
		<-ctx.Done()
	}
	return &health.HealthCheckResponse{}, ctx.Err()
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	g := grpc.NewServer()
	health.RegisterHealthServer(g, &server{})
	reflection.Register(g)
	go g.Serve(l)
	for i, name := range []string{"default:       ", "--count-errors:"} {
		args := []string{"--insecure", "--call", "grpc.health.v1.Health/Check", "-n", "20", "-c", "1", "--timeout", "200ms", "-O", "json"}
		if i == 1 {
			args = append(args, "--count-errors")
		}
		out, err := exec.Command(os.Args[1], append(args, l.Addr().String())...).Output()
		if err != nil {
			log.Fatal(err)
		}
		var r struct {
			Count                  int
			Average, Slowest       time.Duration
			StatusCodeDistribution map[string]int
		}
		if err := json.Unmarshal(out, &r); err != nil {
			log.Fatal(err)
		}
		if i == 0 {
			fmt.Printf("%d calls, %d OK, %d DeadlineExceeded\n", r.Count, r.StatusCodeDistribution["OK"], r.StatusCodeDistribution["DeadlineExceeded"])
		}
		average, slowest := r.Average.String(), r.Slowest.String()
		if r.Average >= 95*time.Millisecond && r.Average <= 150*time.Millisecond {
			average = "from 95 to 150 ms"
		}
		if r.Slowest < 50*time.Millisecond {
			slowest = "below 50 ms"
		} else if r.Slowest >= 199*time.Millisecond {
			slowest = "200 ms or more"
		}
		fmt.Printf("%s average %s, slowest %s\n", name, average, slowest)
	}
}
END
go mod init finding >/dev/null 2>&1
GOBIN=$dir go install github.com/bojand/ghz/cmd/ghz@v0.93.0 2>/dev/null
go get google.golang.org/grpc@v1.85.0 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run . "$dir/ghz")
echo "$got"
diff <(echo "$got") - <<'END'
20 calls, 10 OK, 10 DeadlineExceeded
default:        average from 95 to 150 ms, slowest below 50 ms
--count-errors: average from 95 to 150 ms, slowest 200 ms or more
END
