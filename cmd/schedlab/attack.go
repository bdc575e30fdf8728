package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/attack"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/workload"
)

// newAttack declares the flags of attack. The defaults are for an attack without a scenario.
func newAttack() *cobra.Command {
	var r session.Attack
	var output, timestamps string
	var seed uint64
	var verbose bool
	cmd := &cobra.Command{
		Use:   "attack [SCENARIO] --target URL",
		Short: "Send load to any HTTP server and sum up how it answered",
		Long: `Send requests on a schedule that does not wait for answers, and count response
time from the scheduled time: a stall of the server is in every request it delayed.

With a SCENARIO the request, demand, arrivals and clients are its own, but for
what a flag says, and --target names only the server; without one, URL is asked
as it stands, or what the file of --targets says, in rotation: of the servers that
the file names, or of the one in --target. A target that is not on loopback needs
--allow-remote: send load to servers that are yours. https:// is asked through the
engine vegeta, which it takes by itself; --cacert or --insecure says which certificates
to accept.

--arrivals shapes the schedule at the mean --rate:
  poisson, constant
  ramp(500/s,3000/s)    linearly from one rate to the other; ramp(0.5x,1.5x) of --rate
  sine(0.5,2s)          50 % up and down around --rate, every 2 s
  burst(12)             12 at once; burst(12,5ms,396): 12 every 5 ms until 396 are out,
                        then none until --rate allows the next 396
  in-phase              every connection at once; in-phase(64): 64 at once
  trace(FILE)           a line per request: time[,iterations[,sleep]], or named columns
  log(FILE)             as an access log has them (Common Log Format, Envoy, HAProxy, IIS,
                        JSON of Caddy and others, also as .gz); it says what is asked,
                        too; log(FILE,10x) ten times as fast
A ramp or sine is random like poisson, unless it ends with even: sine(0.5,2s,even).
The default, poisson over 64 kept connections, is harder on a server than vegeta's
rhythm; --arrivals constant -c 0 sends as vegeta does.

--loop closed has each connection wait for its answer, then --think, and send the
next: it finds the highest throughput, and its response times leave out what the
waiting clients did not send. With --rate each client keeps a pace of its own.

No file is overwritten; results have .part at the end of their name until the attack
is over. Good replies have a status of 2xx or 3xx; goodput counts those that came
within --duration.`,
		Example: `  schedlab attack --target http://127.0.0.1:8080/plaintext --rate 2000/s --duration 10s
  schedlab attack quick --target http://127.0.0.1:8080 --rate 1000/s --arrivals 'burst(12)'
  schedlab attack --target http://127.0.0.1:8080/ -r 1000/s -c 64 --idle 4000
  schedlab attack --target http://127.0.0.1:8080/plaintext --loop closed -c 256 --pipeline 16
  schedlab attack --target 'http://127.0.0.1:8080/work?sleep=2ms' --loop closed -c 10 --session 100 --think 'exp(5ms)'
  schedlab attack --targets loadtests/targets/kv.txt --rate 500/s
  schedlab attack --targets requests.txt --target http://127.0.0.1:3101 --rate 500/s
  schedlab attack --target https://127.0.0.1:8443/ --insecure
  schedlab attack --target https://127.0.0.1:8443/ --cacert ca.pem --host api.example.com --http 2 -c 4
  schedlab attack --target http://127.0.0.1:8080 --arrivals 'log(access.log,10x)'
  schedlab attack --target http://127.0.0.1:8080/json --rate 500/s --results out.bin
  go tool vegeta report out.bin`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			eachGiven(cmd.Flags(), func(f *pflag.Flag) { r.Given = append(r.Given, f.Name) })
			if cmd.Flags().Changed("seed") {
				r.Seed = &seed
			}
			r.Scenarios = args
			r.Stamp = map[string]load.Stamp{"scheduled": load.ScheduledStamp, "sent": load.SentStamp}[timestamps]
			result, err := r.Run(cmd.Context(), thisProgram(), func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) })
			if result == nil {
				return err
			}
			w := cmd.OutOrStdout()
			return alsoPrinted(err, attack.Write(w, output, result, verbose, textOptions(w)))
		},
	}
	fl, l := cmd.Flags(), &r.Clients
	fl.StringVar(&r.Target, "target", "", "URL to ask, or with a SCENARIO or --targets the server's http://host:port")
	fl.StringVar(&r.Targets, "targets", "", "file of requests in vegeta's format http or json, or - for standard input")
	oneOf(fl, &l.Loop, "loop", "open", "open: send on a schedule; closed: each connection sends when it is answered", "open", "closed")
	oneOf(fl, &r.Engine, "engine", load.DefaultEngine, "what sends an open loop: spin, or vegeta, which https and HTTP/2 take by themselves (docs/reference/engines.md)", load.Engines()...)
	fl.BoolVar(&r.Insecure, "insecure", false, "accept any certificate of an https target")
	fl.StringVar(&r.CACert, "cacert", "", "file of the certificates (PEM) to trust instead of the system's, of an https target")
	fl.StringVar(&l.Cert, "cert", "", "file of the client's own certificate (PEM), of an https target")
	fl.StringVar(&l.Key, "key", "", "file of its key (default: in the file of --cert)")
	oneOf(fl, &l.HTTP, "http", "1.1", "version of HTTP: 1.1, or 2, which is h2 over https and h2c over http", "1.1", "2")
	fl.IntVar(&l.Streams, "streams", 0, fmt.Sprintf("of --http 2: requests under way on a connection at most (default %d)", load.DefaultStreams))
	fl.StringVar(&l.Host, "host", "", "name to ask for, in Host and of the certificate, where it is not the address")
	fl.VarP(&r.Rate, "rate", "r", "requests per second, like 2000/s (open: default 100/s, or the scenario's; closed: default as many as come)")
	fl.DurationVarP(&r.Duration, "duration", "z", 10*time.Second, "how long to send (of a trace or log: default all of it)")
	fl.Var(&r.Arrivals, "arrivals", "shape of an open loop: "+arrivals.Help+" (default poisson, or the scenario's)")
	fl.IntVarP(&l.Connections, "connections", "c", 64, "kept connections, opened beforehand; 0 opens as many as an open loop needs")
	fl.IntVar(&l.Idle, "idle", 0, "more connections that are asked once and then kept open without requests, during an open loop")
	fl.Float64Var(&r.OpenRate, "open-rate", 0, "connections opened per second beforehand (default as fast as they are accepted)")
	fl.BoolVar(&l.KeepAlive, "keepalive", true, "keep connections; false opens one per request")
	fl.DurationVar((*time.Duration)(&l.Timeout), "timeout", load.DefaultTimeout, "longest time for one request, from its sending")
	// The clients of a closed loop; session.Attack has the same list.
	fl.DurationVar(&r.Warmup, "warmup", 0, "of a closed loop: time before the measured --duration")
	fl.DurationVar((*time.Duration)(&l.Ramp), "ramp", 0, "of a closed loop: spread the clients' starts over this time")
	fl.TextVar(&l.Think, "think", workload.Dist{}, "of a closed loop: pause between answer and next request, like 5ms or 'exp(5ms)'")
	fl.IntVar(&l.Session, "session", 0, "of a closed loop: requests per connection, which is then closed and opened anew")
	fl.IntVar(&l.Pipeline, "pipeline", 1, "of a closed loop: requests under way on each connection")
	oneOf(fl, &r.Rest, "rest", runner.RestAuto, "while nothing is due: spin, on a CPU of its own; wait, asleep in the kernel; auto: spin where the server leaves a CPU",
		runner.RestAuto, runner.RestSpin, runner.RestWait)
	// The request, where neither a scenario nor a file has one.
	fl.StringVar(&r.Method, "method", http.MethodGet, "method, with --target and no scenario")
	fl.StringVar(&r.Body, "body", "", "request body, or @file")
	fl.StringArrayVar(&r.Headers, "header", nil, "'Name: value' to send (repeatable)")
	fl.Uint64Var(&seed, "seed", 0, "seed of arrivals, demand and think times (default random, printed)")
	fl.StringVar(&r.Results, "results", "", "write every result to this new file in vegeta's format, for vegeta report")
	oneOf(fl, &timestamps, "timestamps", "scheduled", "what those results count from: scheduled or sent", "scheduled", "sent")
	fl.StringVar(&r.HGRM, "hgrm", "", "write the response-time distribution to this new file (HdrHistogram, milliseconds)")
	oneOf(fl, &output, "output", "text", "text or json", "text", "json")
	fl.BoolVarP(&verbose, "verbose", "v", false, "print all that is known, the generator and every doubt included")
	fl.BoolVar(&r.AllowRemote, "allow-remote", false, "attack a target that is not on loopback")
	// Their help texts have the defaults in words.
	fl.Lookup("arrivals").DefValue, fl.Lookup("think").DefValue = "", ""
	// Shapes with values end with a bracket, for the user to go on.
	complete(cmd, "arrivals", "poisson", "constant", "ramp(", "sine(", "burst(", "in-phase", "trace(", "log(")
	bindConfig(cmd)
	inSections(cmd,
		helpSection{"What to ask", "target targets method header body timeout"},
		helpSection{theLoad, "rate duration arrivals connections keepalive idle open-rate engine rest seed"},
		helpSection{"TLS and HTTP/2", "insecure cacert cert key host http streams"},
		helpSection{"A closed loop", "loop think session pipeline ramp warmup"},
		helpSection{theOutput, "output verbose results timestamps hgrm config help"},
		helpSection{theMachine, "allow-remote"},
	)
	return cmd
}
