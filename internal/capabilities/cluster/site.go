package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/process"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/workload"
)

// Limits of waiting for Pods.
const (
	startLimit = 60 * time.Second      // until a server's Pod runs
	shardLimit = 120 * time.Second     // until all shards run
	podPoll    = 50 * time.Millisecond // between two looks at a Pod
	drainTime  = 5                     // seconds that a server has to end
	// Shards that take longer are lost.
	dialLimit   = 3 * time.Second  // until a shard takes a connection
	clockLimit  = 10 * time.Second // until it has told its clock
	answerLimit = 30 * time.Second // from the end of its load until its answer is here
)

// A Site is a cluster in which this process is the run's collector. It implements runner.Site.
// It starts a Pod for each server, and has the shards send the load. Use it from one goroutine.
type Site struct {
	Settings
	self   string // the program's path: commands that begin with it are run in its image
	kube   *kube
	client *http.Client // to the shards
	shards []*remoteShard

	about  record.Site
	number int // servers started so far
}

// Words are what messages about a run on a cluster say.
var Words = record.SiteWords{Name: "a cluster", Senders: "the shards of a cluster", CPUs: "--server-cpu", Apart: "--server-nodes and --load-nodes"}

// RunHelp is the command that tells how an image is run.
const RunHelp = "schedlab cluster run --help"

// NewSite returns the site of a file of settings. It asks the cluster nothing yet.
func NewSite(file, self string) (*Site, error) {
	var s Settings
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's settings: %w", err)
	}
	s.Owner = os.Getenv("POD_UID")
	k, err := newKube(s.Namespace)
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: dialLimit}).DialContext, DisableKeepAlives: true}}
	return &Site{Settings: s, self: self, kube: k, client: client, about: record.Site{Senders: s.Shards, ServerCPUs: s.ServerCPU}}, err
}

// findShards waits until every shard runs, and notes where. Later calls do nothing.
func (s *Site) findShards(ctx context.Context) error {
	if len(s.shards) == s.Shards {
		return nil
	}
	deadline := time.Now().Add(shardLimit)
	for {
		pods, err := s.kube.pods(ctx, partLabels(s.Name, "load"))
		if err != nil {
			return fmt.Errorf("looking for the shards: %w", err)
		}
		s.shards = nil
		waits := fmt.Sprintf("%d of %d are there", len(pods), s.Shards)
		for _, p := range pods {
			if why := p.stuck(); why != "" {
				return s.troubled(fmt.Sprintf("shard %s does not run: %s", p.Metadata.Name, why), p.Metadata.Name)
			}
			if !p.running() {
				waits = p.Metadata.Name + ": " + p.waits() + p.place("--shard-cpu "+s.ShardCPU, "--load-nodes", s.LoadNodes)
				continue
			}
			index, err := strconv.Atoi(p.Metadata.Annotations["batch.kubernetes.io/job-completion-index"])
			if err != nil {
				return s.troubled(fmt.Sprintf("shard %s has no index in its annotations: only Indexed Jobs give one (Kubernetes 1.24 and later)", p.Metadata.Name), p.Metadata.Name)
			}
			s.shards = append(s.shards, &remoteShard{
				Index: index, Pod: p.Metadata.Name, Node: p.Spec.NodeName, token: s.Token,
				addr: net.JoinHostPort(p.Status.PodIP, strings.TrimPrefix(ShardAddr, ":")),
			})
		}
		if len(s.shards) == s.Shards {
			break
		}
		if time.Now().After(deadline) {
			return s.troubled(fmt.Sprintf("after %v not all shards run: %s", shardLimit, waits), "-l "+partLabels(s.Name, "load"))
		}
		if err := pause(ctx, 5*podPoll); err != nil {
			return err
		}
	}
	slices.SortFunc(s.shards, func(a, b *remoteShard) int { return a.Index - b.Index })
	for _, shard := range s.shards {
		s.about.LoadMachines = with(s.about.LoadMachines, shard.Node)
	}
	return nil
}

// troubled returns an error with the command that shows more.
func (s *Site) troubled(what, pod string) error {
	return fmt.Errorf("%s; see kubectl -n %s describe pod %s", what, s.Namespace, pod)
}

// with returns the list with one more name, in order and without doubles.
func with(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	list = append(slices.Clone(list), name)
	slices.Sort(list)
	return list
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// ServerCPUs implements runner.Site.
func (s *Site) ServerCPUs() int { return s.ServerCPU }

// TrialCost implements runner.Site: a Pod has to be started and ended for each trial.
func (s *Site) TrialCost() time.Duration { return 900 * time.Millisecond }

// Describe implements runner.Site.
func (s *Site) Describe() *record.Site {
	c := s.about
	c.Words = Words
	return &c
}

// Start implements runner.Site: it starts a server as a Pod, and waits until it has an address. The
// command is one of this program, or image:REF with the arguments of the image.
func (s *Site) Start(ctx context.Context, argv []string) (*process.Remote, error) {
	variables, words := cmdline.Variables(argv)
	own := words[0] == s.self
	if !own && !strings.HasPrefix(words[0], cmdline.ImageMark) {
		return nil, fmt.Errorf("a cluster has no program %s; give an image: --arm name='%sREGISTRY/NAME@sha256:... -listen {addr}'", words[0], cmdline.ImageMark)
	}
	s.number++
	p := serverPod{Settings: s.Settings, Pod: fmt.Sprintf("%s-server-%d", s.Name, s.number), Image: s.Image, Foreign: !own}
	if !own {
		p.Image = strings.TrimPrefix(words[0], cmdline.ImageMark)
	}
	marks := strings.NewReplacer(cmdline.AddrMark, fmt.Sprintf("0.0.0.0:%d", dataPort), cmdline.HostMark, "0.0.0.0", cmdline.PortMark, strconv.Itoa(dataPort),
		cmdline.AdminMark, fmt.Sprintf("0.0.0.0:%d", adminPort), cmdline.DirMark, "/tmp")
	for _, w := range words[1:] {
		p.Args = append(p.Args, marks.Replace(w))
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(marks.Replace(v), "=")
		p.Env = append(p.Env, [2]string{name, value})
	}
	text, err := render("server", p)
	if err != nil {
		return nil, err
	}
	if err := s.kube.create(ctx, text); err != nil {
		return nil, fmt.Errorf("starting a server's Pod: %w; see kubectl -n %s get resourcequota,limitrange,events", err, s.Namespace)
	}
	at, err := s.await(ctx, p.Pod)
	if err != nil {
		s.kill(p.Pod)
		return nil, err
	}
	s.about.ServerMachines = with(s.about.ServerMachines, at.Spec.NodeName)
	r := &process.Remote{
		Addr: net.JoinHostPort(at.Status.PodIP, strconv.Itoa(dataPort)),
		Stop: func() error { return s.stop(p.Pod) },
		Kill: func() { s.kill(p.Pod) },
		Log:  func() []byte { return s.kube.log(context.Background(), p.Pod) },
	}
	if slices.ContainsFunc(argv, func(w string) bool { return strings.Contains(w, cmdline.AdminMark) }) {
		r.Admin = net.JoinHostPort(at.Status.PodIP, strconv.Itoa(adminPort))
	}
	return r, nil
}

// gone returns an error in other words if a Pod is not there any more.
func (s *Site) gone(name string, err error) error {
	if refused, ok := errors.AsType[*apiError](err); ok && refused.code == http.StatusNotFound {
		return fmt.Errorf("the server's Pod %s was deleted during its trial; see kubectl -n %s get events", name, s.Namespace)
	}
	return err
}

// await waits until a Pod runs.
func (s *Site) await(ctx context.Context, name string) (pod, error) {
	deadline := time.Now().Add(startLimit)
	for {
		p, err := s.kube.pod(ctx, name)
		switch {
		case err != nil:
			return p, s.gone(name, fmt.Errorf("waiting for the Pod %s: %w", name, err))
		case p.running():
			return p, nil
		case p.stuck() != "":
			return p, s.troubled(fmt.Sprintf("the server's Pod %s does not run: %s", name, p.stuck()), name)
		case time.Now().After(deadline):
			return p, s.troubled(fmt.Sprintf("the server's Pod %s does not run after %v: %s", name, startLimit, p.waits()+p.place(fmt.Sprintf("--server-cpu %d", s.ServerCPU), "--server-nodes", s.ServerNodes)), name)
		}
		if err := pause(ctx, podPoll); err != nil {
			return p, err
		}
	}
}

// stop ends a server. It is an error if the server ended before.
func (s *Site) stop(name string) error {
	p, err := s.kube.pod(context.Background(), name)
	if end := p.ended(); err == nil && end != "" {
		err = s.troubled(fmt.Sprintf("the server's Pod %s ended during its trial: %s", name, end), name)
	}
	err = s.gone(name, err)
	return cmp.Or(err, s.kube.delete(context.Background(), name, drainTime))
}

// kill ends a server at once. Should that fail, the collector's end removes it: it owns the Pod.
func (s *Site) kill(name string) { _ = s.kube.delete(context.Background(), name, 0) }

// Send implements runner.Site. In an open loop it goes without the shards that were lost.
func (s *Site) Send(ctx context.Context, o load.Options, think workload.Dist) (load.ClosedResult, runner.Clocks, error) {
	if err := s.findShards(ctx); err != nil {
		return load.ClosedResult{}, runner.Clocks{}, err
	}
	var j job
	if think != (workload.Dist{}) {
		j.Think = think.String()
	}
	dealt := parts(o, len(s.shards))
	answers, start, clocks, err := s.send(ctx, o, dealt, j)
	var r load.ClosedResult
	lost, some := errors.AsType[*LostError](err)
	switch {
	case err != nil && (o.Closed() || !some || answers == nil):
		return r, clocks, err
	case o.Closed():
		r = mergeClosed(answers)
	default:
		if some {
			clocks.Lost = lost
		}
		r.Result = *merge(o, dealt, answers)
	}
	r.Start = start
	return r, clocks, nil
}

// A LostError is about shards that did not send their part.
type LostError struct{ msg string }

func (e *LostError) Error() string { return e.msg }

// send has every shard send its part, all from the same moment on. An answer is nil if the shard was
// lost, and the error then names it; with other errors there are no answers. start is this process's
// time at the load's start.
func (s *Site) send(ctx context.Context, o load.Options, dealt []load.Options, like job) (answers []*answer, start time.Time, sum runner.Clocks, err error) {
	errs := make([]error, len(dealt))
	// With more at a time, replies would wait here for each other, and the clocks would be measured less exactly.
	s.each(errs, 4, func(_ int, shard *remoteShard) error { return shard.setClock(ctx, s.client) })
	if ctx.Err() != nil {
		return nil, start, sum, context.Cause(ctx)
	}
	if lost := s.lost(errs); lost != nil {
		return nil, start, sum, lost
	}
	// Time for the jobs to be written and to arrive, and for the connections to be opened.
	start = time.Now().Add(150*time.Millisecond + time.Duration(len(o.Trace.At))*time.Microsecond + time.Duration(o.Connections+o.Idle)*50*time.Microsecond)
	if o.OpenRate > 0 {
		start = start.Add(time.Duration(float64(o.Connections+o.Idle) / o.OpenRate * float64(time.Second)))
	}
	if o.Started != nil {
		o.Started(start)
	}
	// A shard that loses its connection while it sends never answers.
	limited, cancel := context.WithDeadline(ctx, start.Add(length(o)+answerLimit))
	defer cancel()
	got := make([]*answer, len(dealt))
	s.each(errs, len(errs), func(i int, shard *remoteShard) (err error) {
		j := like
		j.Options, j.Begin = dealt[i], start.UnixNano()+int64(shard.offset)
		got[i], err = shard.load(limited, s.client, j)
		return err
	})
	if o.Closing != nil {
		o.Closing()
	}
	if ctx.Err() != nil {
		return nil, start, sum, context.Cause(ctx)
	}
	for i, a := range got {
		s.about.ClockError = max(s.about.ClockError, s.shards[i].doubt.Seconds())
		if a == nil {
			continue
		}
		if a.Error != "" {
			return nil, start, sum, fmt.Errorf("shard %d on node %s: %s", i, s.shards[i].Node, a.Error)
		}
		s.about.Late = max(s.about.Late, a.Late.Seconds())
		// Shards of one node see the same steal.
		sum.CPU, sum.Steal, sum.Throttled = sum.CPU+max(0, a.CPU), max(sum.Steal, a.Steal), max(sum.Throttled, a.Throttled)
	}
	return got, start, sum, s.lost(errs)
}

// length returns the longest time from a load's start until its last request has its outcome.
func length(o load.Options) time.Duration {
	span := o.Warmup + o.Duration
	if n := len(o.Trace.At); n > 0 {
		span = max(span, o.Trace.At[n-1])
	}
	return span + cmp.Or(o.Timeout.Duration, load.DefaultTimeout)
}

// each calls f for the first shards, one for each error, most of them at a time.
func (s *Site) each(errs []error, most int, f func(i int, shard *remoteShard) error) {
	var all sync.WaitGroup
	places := make(chan struct{}, most)
	for i := range errs {
		places <- struct{}{}
		all.Go(func() {
			errs[i] = f(i, s.shards[i])
			<-places
		})
	}
	all.Wait()
}

// lost returns an error about the shards with errors; nil if there are none.
func (s *Site) lost(errs []error) error {
	for i, err := range errs {
		if err != nil {
			shard := s.shards[i]
			return &LostError{fmt.Sprintf("shard %d (Pod %s on node %s) is lost: %v; see kubectl -n %s describe pod %s", shard.Index, shard.Pod, shard.Node, err, s.Namespace, shard.Pod)}
		}
	}
	return nil
}

func (s *remoteShard) load(ctx context.Context, client *http.Client, j job) (*answer, error) {
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(j); err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, "http://"+s.addr+"/load", &text)
	if err != nil {
		return nil, err
	}
	reply, err := s.ask(ctx, client, r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	var a answer
	if err := gob.NewDecoder(reply.Body).Decode(&a); err != nil {
		return nil, fmt.Errorf("its answer broke off: %w", err)
	}
	return &a, nil
}
