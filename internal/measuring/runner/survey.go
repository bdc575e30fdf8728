package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/process"
	"schedlab/internal/measuring/profile"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/record"
)

// Gap starts the program self as a server of the given mode and requests a short fixed reply over one
// connection, each time as soon as the last reply has come, for the time span. longest is the longest time
// between two replies, or from the last reply to the end.
//
// Gap and Floor serve the command doctor, which tells whether a machine is fit for measuring: they measure it
// as a comparison on these CPUs would use it. Each stops what it starts.
func Gap(ctx context.Context, cpus host.Sides, self, mode string, span time.Duration) (longest time.Duration, replies int, err error) {
	err = withLab(cpus, lab{}, func(l lab) error {
		// One connection and a reply that costs next to nothing: a long gap is most likely a pause
		// of the machine.
		arm := scenario.Arm{Mode: mode}
		asked := scenario.Scenario{Workload: scenario.Workload{Method: http.MethodGet, Path: "/plaintext"}}
		server, err := l.launcher.Start(ctx, arm.Argv(self, 1, record.StampsOff), asked.ReadyPath(arm))
		if err != nil {
			return err
		}
		defer server.Kill()
		result, err := load.Closed(ctx, load.Options{
			Clients: record.Clients{Connections: 1, KeepAlive: true},
			Targets: asked.Targets(server.Addr), Warmup: probeWarmup, Duration: span, Shared: cpus.Shared,
		})
		if err != nil {
			return err
		}
		if result.Answered == 0 {
			return fmt.Errorf("a %s server gave no good reply in %v", mode, span)
		}
		longest, replies = longestGap(result, span), result.Answered
		return nil
	})
	return longest, replies, err
}

// longestGap returns the longest time between two good replies of one client, or between a reply and an end of
// the span. The ends of the span count as replies, so a silence at an end is seen, too.
func longestGap(r load.ClosedResult, span time.Duration) time.Duration {
	ends := make([]int64, 0, len(r.Requests)+2)
	ends = append(ends, int64(probeWarmup), int64(probeWarmup+span))
	for _, q := range r.Requests {
		if q.Good() {
			ends = append(ends, q.Done)
		}
	}
	slices.Sort(ends)
	longest := int64(0)
	for i := range ends[1:] {
		longest = max(longest, ends[i+1]-ends[i])
	}
	return time.Duration(longest)
}

// Floor measures, in half a second, the time that the load itself adds to every response time. It
// uses a server that does next to nothing, of the program self. The result tells at which rate.
// The load is sent by the engine of c, and speaks as c do.
func Floor(ctx context.Context, cpus host.Sides, self string, c record.Clients) (f *record.Floor, err error) {
	c.Engine = cmp.Or(c.Engine, load.DefaultEngine)
	cpus.Vegeta = c.Engine == load.EngineVegeta
	err = withLab(cpus, lab{}, func(l lab) error {
		f, err = l.floor(ctx, self, c, cpus.Shared)
		return err
	})
	return f, err
}

// Durations and rates of the profiles, which are captured one after the other.
const (
	// They are taken one after the other, because a profile disturbs what another one measures.
	// wallSamples times wallEvery is one second. profileWarm lets the load fill the server first.
	leastCPU     = 2 // seconds of the CPU profile
	mostCPU      = 20
	contention   = 1 // seconds of the mutex profile, and of the block profile
	allocsFor    = time.Second
	wallSamples  = 40
	wallEvery    = 25 * time.Millisecond
	traceSeconds = .5
	profileWarm  = 300 * time.Millisecond
	profileLoad  = 5 * time.Second // length of one trace of the load; the next one follows
	profileLimit = time.Minute     // timeout of one page
	// Every contended lock is sampled, and one blocking event per microsecond blocked.
	contendedRate, blockedRate = 1, 1000

	mostProfile = 256 << 20 // bytes

	// The runtime takes cpuRate samples per second of CPU time. With enoughSamples of each arm a change of 2 % of the samples
	// can be named (docs/guide/profiles.md).
	cpuRate, enoughSamples = 100, 400
)

// ProfileTakes is about how long the profiles of one arm take, with its server's start and a CPU profile of leastCPU.
const ProfileTakes = 7 * time.Second

// CPUSeconds returns how long the CPU profile of each arm takes: until the arm that used the least CPU time in r has
// enoughSamples, from leastCPU to mostCPU. All arms together take no more than room longer than with leastCPU.
func CPUSeconds(r *record.Comparison, room time.Duration) int {
	arms, busy := 0, math.Inf(1) // CPUs
	for _, a := range r.Arms {
		if a.Role == record.Copy {
			continue
		}
		arms++
		if a.CPUPerRequest != nil && a.Goodput != nil {
			busy = min(busy, *a.CPUPerRequest**a.Goodput)
		}
	}
	most := min(mostCPU, leastCPU+room.Seconds()/float64(max(arms, 1)))
	return int(max(leastCPU, min(most, math.Ceil(enoughSamples/(cpuRate*busy)))))
}

// A Captured holds the profiles of one arm's server. Files is empty if the server serves no
// profiles. The order is the order of capture.
type Captured struct {
	Arm     string
	Files   []CapturedFile
	Modules []string // paths of its program's own modules, none if the program is not known or not of Go
}

// A CapturedFile is one profile in pprof's format, or the execution trace. Name is a file name:
// cpu.pb.gz, allocs.pb.gz, mutex.pb.gz, block.pb.gz, goroutine.pb.gz, wall.pb.gz or trace.out.
type CapturedFile struct {
	Name string
	Data []byte
}

// Profile starts each arm once, without the baseline's copy, sends the planned load, and captures
// the profiles one after the other, the CPU profile for cpuSeconds. It measures and records nothing. After an error it returns the
// profiles captured so far. It probes nothing: ran, the plan of the finished run, has the rates.
func (c *Comparison) Profile(ctx context.Context, ran record.Plan, cpuSeconds int, progress Progress) (all []Captured, err error) {
	// There are no findings, so the servers' rings follow from the rates of the plan alone.
	p := probed{plan: c.plan}
	p.Arms = slices.Clone(p.Arms)
	for i := range p.Arms {
		p.Arms[i].Clients.Rate = ran.Arms[i].Clients.Rate
	}
	p.ring = p.ringOf(nil)
	each := ProfileTakes + time.Duration(cpuSeconds-leastCPU)*time.Second
	p.Estimate = record.Lasting(each * time.Duration(len(p.Arms)-1))
	err = withLab(p.cpus, lab{progress: progress, began: time.Now()}, func(l lab) error {
		for _, a := range p.originals() {
			l.tell(p.plan, "profiling "+a.Name, len(all), len(p.Arms)-1)
			captured, err := l.profile(ctx, p, a, cpuSeconds)
			if err != nil {
				return fmt.Errorf("profiling arm %q: %w", a.asked.Given(), err)
			}
			all = append(all, captured)
		}
		return nil
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return all, err
}

// WithoutProfiles starts each arm once, without load, and returns the names of the arms that show no profiles. An arm
// that does not start is not among them: the run tells why. An error is the context's cause.
func (c *Comparison) WithoutProfiles(ctx context.Context) (names []string, err error) {
	err = withLab(c.plan.cpus, lab{}, func(l lab) error {
		for _, a := range c.plan.originals() {
			server, err := l.start(ctx, probed{plan: c.plan}, a)
			if err != nil {
				continue
			}
			if (capture{server, server.Profiles()}).first(ctx) == nil {
				names = append(names, a.Name)
			}
			server.Kill()
		}
		return context.Cause(ctx)
	})
	return names, err
}

// profile captures one arm's profiles while its clients send.
func (l lab) profile(ctx context.Context, p probed, a arm, cpuSeconds int) (Captured, error) {
	none := Captured{Arm: a.Name}
	server, err := l.start(ctx, p, a)
	if err != nil {
		return none, err
	}
	defer server.Kill()
	c := capture{server, server.Profiles()}
	page := c.first(ctx)
	if page == nil {
		return none, nil
	}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	// With room for one error the goroutine ends even if nobody reads the error.
	sent := make(chan error, 1)
	go func() { sent <- keepSending(sending, p, a, server) }()
	time.Sleep(profileWarm)
	files, err := c.all(ctx, cpuSeconds)
	// If the load ended by itself, the profiles show an idle server.
	select {
	case lost := <-sent:
		return none, errors.Join(err, lost)
	default:
	}
	stop()
	<-sent // wait for its end; the error only says that it was stopped
	return Captured{a.Name, files, modulesOf(page)}, err
}

// modulesOf returns the paths of the own modules of the program that wrote a profile, as its file has them; none where the
// file has none, or is not to be read here.
func modulesOf(page []byte) []string {
	f, err := os.Open(profile.Executable(page))
	if err != nil {
		return nil
	}
	defer f.Close()
	return profile.OwnModules(f)
}

// keepSending sends an arm's load to its server, one trace after the other, until ctx ends or
// sending fails. The error tells which. It never returns nil.
func keepSending(ctx context.Context, p probed, a arm, server *process.Process) error {
	p.Heating, p.Warmup, p.Window = record.Span{}, record.Span{}, record.Lasting(profileLoad)
	for round := 0; ; round++ {
		clocks := host.Watch(ctx, server.Pid(), p.cpus, 0, profileLoad)
		_, _, err := newTrial(p, round+1, round, a, server).drive(ctx, clocks)
		clocks.End()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
	}
}

// A capture takes the profiles of one server. Its methods are called one after the other.
type capture struct {
	*process.Process
	at string // URL of the profiles
}

// first returns a profile of the server's goroutines, by which it shows that it has profiles; nil if it has none. Such a
// server says that it has no such page, or answers any path with something else.
func (c capture) first(ctx context.Context) []byte {
	page, err := c.get(ctx, "goroutine")
	if err != nil {
		return nil
	}
	if _, err := profile.Parse(page, nil); err != nil {
		return nil
	}
	return page
}

// all captures the profiles one after the other. It leaves out kinds that the server does not
// know. The load runs all the while.
func (c capture) all(ctx context.Context, cpuSeconds int) (files []CapturedFile, err error) {
	page := func(format string, values ...any) func() ([]byte, error) {
		return func() ([]byte, error) { return c.get(ctx, fmt.Sprintf(format, values...)) }
	}
	for _, k := range []struct {
		file string
		take func() ([]byte, error)
	}{
		{"cpu.pb.gz", page("profile?seconds=%d", cpuSeconds)},
		{"allocs.pb.gz", func() ([]byte, error) { return c.allocs(ctx) }},
		{"mutex.pb.gz", page("mutex?seconds=%d&rate=%d", contention, contendedRate)},
		{"block.pb.gz", page("block?seconds=%d&rate=%d", contention, blockedRate)},
		{"goroutine.pb.gz", page("goroutine")},
		{"wall.pb.gz", func() ([]byte, error) { return c.wall(ctx) }},
		{"trace.out", page("trace?seconds=%g", traceSeconds)},
	} {
		data, err := k.take()
		switch {
		case err == nil:
			files = append(files, CapturedFile{k.file, data})
		case !errors.Is(err, process.ErrNoPage):
			return nil, fmt.Errorf("capturing %s: %w", strings.TrimSuffix(k.file, ".pb.gz"), err)
		}
	}
	return files, nil
}

// allocs returns a profile of the allocations within allocsFor. A heap profile counts since the start, so the
// difference of two profiles has the allocations between them. The garbage collector runs before each, because a
// profile is complete only up to the last collection.
func (c capture) allocs(ctx context.Context) ([]byte, error) {
	before, err := c.get(ctx, "heap?gc=1")
	if err != nil {
		return nil, err
	}
	time.Sleep(allocsFor)
	after, err := c.get(ctx, "heap?gc=1")
	if err != nil {
		return nil, err
	}
	return profile.Allocated(before, after)
}

// wall samples the goroutine profile wallSamples times, and returns a profile of wall time. Go has none of
// its own. Where a goroutine is found again and again, it spends its time: each sample stands for wallEvery.
func (c capture) wall(ctx context.Context) ([]byte, error) {
	var samples [][]byte
	next := time.Now()
	for range wallSamples {
		time.Sleep(time.Until(next))
		next = next.Add(wallEvery)
		data, err := c.get(ctx, "goroutine")
		if err != nil {
			return nil, err
		}
		samples = append(samples, data)
	}
	return profile.Wall(samples, wallEvery)
}

// get returns a page of the profiles. A page beyond mostProfile is cut off.
func (c capture) get(ctx context.Context, page string) (data []byte, err error) {
	err = c.Get(ctx, c.at+page, "application/octet-stream", profileLimit, func(reply *http.Response) error {
		data, err = io.ReadAll(io.LimitReader(reply.Body, mostProfile))
		return err
	})
	return data, err
}
