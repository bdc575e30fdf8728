package session

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"schedlab/internal/capabilities/cluster"
)

// A Cluster says where on Kubernetes an order is carried out, and what becomes of its objects.
type Cluster struct {
	cluster.Settings               // without a Name there is one of random digits; Token is made
	Context          string        // kubectl's, "" for its current one
	Out              string        // directory of records
	DryRun           string        // server or client: only check the objects there; "" runs
	Deadline         time.Duration // after which the cluster ends the run, whatever happens
	Keep             bool          // leave the objects in the cluster
}

// objectName is the form of a run's name: a name of a Kubernetes object, with room for our endings.
var objectName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,38}[a-z0-9]$`)

// quantity is the form of a number of CPUs.
var quantity = regexp.MustCompile(`^([1-9][0-9]{0,3}|[1-9][0-9]{1,4}m)$`)

// job returns the run of an order, which has the files with it that the order names.
func (r *Cluster) job(o Order) (j cluster.Job, err error) {
	r.Name = cmp.Or(r.Name, fmt.Sprintf("schedlab-%06x", rand.Uint32N(1<<24)))
	r.Token = crand.Text()
	switch {
	case r.Image == "":
		return j, Usagef("no --image: build deploy/Dockerfile, push it where the cluster can pull it, and name it, best by digest")
	case !objectName.MatchString(r.Name):
		return j, Usagef("--name %q: give 2 to 40 small letters, digits and hyphens, a letter first", r.Name)
	case r.Shards < 1 || r.Shards > 1000:
		return j, Usagef("--shards %d: give 1 to 1000", r.Shards)
	case r.ServerCPU < 1:
		return j, Usagef("--server-cpu %d: give whole CPUs, at least 1", r.ServerCPU)
	case !quantity.MatchString(r.ShardCPU):
		return j, Usagef("--shard-cpu %q: give a number of CPUs, like 2 or 500m", r.ShardCPU)
	case r.Deadline < time.Minute:
		return j, Usagef("--deadline %v: give at least a minute", r.Deadline)
	}
	j = cluster.Job{Settings: r.Settings, Deadline: int(r.Deadline.Seconds())}
	if err := send(&j, o.Common()); err != nil {
		return j, Usage(err)
	}
	o.Progress, o.Common().Cluster, o.Common().Out = "plain", cluster.SettingsFile, cluster.RunsDir
	text, err := o.JSON()
	j.Request = string(text)
	return j, err
}

// Objects returns the objects that Run would create, as YAML.
func (r Cluster) Objects(o Order) ([]byte, error) {
	j, err := r.job(o)
	if err != nil {
		return nil, err
	}
	return j.Render()
}

// send sends the files along that a request names, and names them as the Pod has them.
func send(j *cluster.Job, r *Common) (err error) {
	r.Scenarios = slices.Clone(r.Scenarios)
	for i, name := range r.Scenarios {
		if r.Scenarios[i], err = j.Send(name); err != nil {
			return err
		}
	}
	if r.Targets != "" {
		if r.Targets, err = j.Send(r.Targets); err != nil {
			return err
		}
	}
	if r.Log == "" {
		return nil
	}
	file, _, err := SplitLog(r.Log)
	if err != nil {
		return err
	}
	sent, err := j.Send(file)
	r.Log = sent + strings.TrimPrefix(r.Log, file)
	return err
}

// Kubectl returns the way to the cluster.
func (r Cluster) Kubectl() cluster.Kubectl {
	return cluster.Kubectl{Context: r.Context, Namespace: r.Namespace}
}

// Run creates a run's objects and collects it. It returns the text to print: the cluster's reply to a dry run,
// otherwise the answer. log gets the run's progress.
func (r Cluster) Run(ctx context.Context, p Program, o Order, log io.Writer) (answer string, err error) {
	j, err := r.job(o)
	if err != nil {
		return "", err
	}
	objects, err := j.Render()
	if err != nil {
		return "", err
	}
	if err := p.begin(ctx); err != nil {
		return "", err
	}
	said, err := r.Kubectl().Create(ctx, objects, r.DryRun)
	if r.DryRun != "" {
		return said, err
	}
	if err != nil {
		if said != "" { // some objects are there: a quota is counted object by object
			r.clean(log, r.Name)
		}
		return "", err
	}
	fmt.Fprintf(log, "run %s in namespace %s; if this is cut off: schedlab cluster collect %s%s\n", r.Name, r.Namespace, r.Name, r.where())
	return r.Collect(ctx, p, r.Name, log)
}

// where returns the flags that name the cluster, for a command to copy.
func (r Cluster) where() (flags string) {
	if r.Namespace != "default" {
		flags += " -n " + r.Namespace
	}
	if r.Context != "" {
		flags += " --context " + r.Context
	}
	return flags
}

// stopLimit is how long an interrupted run may take to end, to be fetched and to be deleted.
const stopLimit = 90 * time.Second

// Collect waits for a run's end, fetches its record, returns its answer and deletes its objects. They stay
// if the record was not fetched and may still be there. The error has the code of the run.
func (r Cluster) Collect(ctx context.Context, p Program, run string, log io.Writer) (answer string, err error) {
	if err := p.begin(ctx); err != nil {
		return "", err
	}
	k := r.Kubectl()
	var got cluster.Fetched
	pod, err := k.Await(ctx, run)
	if err == nil {
		got, err = r.fetch(ctx, run, pod, log)
	}
	_, gone := errors.AsType[*cluster.GoneError](err)
	switch {
	case err == nil || gone || errors.Is(err, ErrInterrupted):
		r.clean(log, run)
	case errors.Is(err, cluster.ErrTooLarge): // another try would fail, too
		err = fmt.Errorf("%w; then delete its objects: schedlab cluster clean %s%s", err, run, r.where())
	default:
		err = fmt.Errorf("%w; the record may still be fetched: schedlab cluster collect %s%s", err, run, r.where())
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return "", &Error{Code: Interrupted, Err: err}
	case err != nil:
		return "", err
	}
	// The answer names the record where it was, in the Pod.
	answer = string(got.Answer)
	for _, dir := range got.Dirs {
		answer = strings.ReplaceAll(answer, cluster.RunsDir+"/"+filepath.Base(dir), dir)
	}
	return answer, Exit(got.Exit)
}

// fetch shows the progress of a run and fetches its record. After an interrupt it ends the run first.
func (r Cluster) fetch(ctx context.Context, run, pod string, log io.Writer) (cluster.Fetched, error) {
	k := r.Kubectl()
	following, stop := context.WithCancel(ctx)
	var follower sync.WaitGroup
	defer follower.Wait()
	defer stop()
	follower.Go(func() { k.Follow(following, pod, log) })
	got, err := k.Fetch(ctx, run, pod, r.Out)
	if err == nil || ctx.Err() == nil {
		return got, err
	}
	fmt.Fprintln(log, "ending the run, and fetching what was measured")
	late, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), stopLimit, fmt.Errorf("the run does not end within %v", stopLimit))
	defer cancel()
	if err = k.Interrupt(late, pod); err == nil {
		got, err = k.Fetch(late, run, pod, r.Out)
	}
	return got, err
}

// clean deletes a run's objects, unless they are to be kept. It is part of a run's end, so it
// takes its own time, and its failure does not change how the run ended.
func (r Cluster) clean(log io.Writer, run string) {
	if r.Keep {
		fmt.Fprintf(log, "the objects stay; delete them with: schedlab cluster clean %s%s\n", run, r.where())
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if _, err := r.Kubectl().Clean(ctx, run); err != nil {
		fmt.Fprintf(log, "schedlab: the objects of %s may still be there: %v; delete them with: schedlab cluster clean %s%s\n", run, err, run, r.where())
	}
}
