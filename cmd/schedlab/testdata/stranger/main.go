// Command stranger is a small service as somebody else would write it, of which
// tests and tools/honesty compare two builds. It knows nothing of schedlab.
//
//	go build -ldflags '-X main.extra=1.15' ./cmd/schedlab/testdata/stranger
//
// makes one that hashes 15 % more for a request.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"math"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
)

// extra is the factor of CPU demand, set at build time.
var extra = "1"

func main() {
	listen := flag.String("listen", "127.0.0.1:8000", "address")
	rounds := flag.Float64("rounds", 2000, "hashes a request")
	flag.Parse()
	factor, err := strconv.ParseFloat(extra, 64)
	if err != nil {
		log.Fatalf("main.extra: %v", err)
	}
	n := int(math.Round(*rounds * factor))
	var served atomic.Int64
	http.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.URL.Path))
		for range n {
			sum = sha256.Sum256(sum[:])
		}
		served.Add(1)
		fmt.Fprintf(w, "%x\n", sum[:4])
	})
	http.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# TYPE stranger_served_total counter\nstranger_served_total %d\n", served.Load())
	})
	http.HandleFunc("GET /gogc", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, os.Getenv("GOGC")) })
	log.Fatal(http.ListenAndServe(*listen, nil))
}
