package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/cluster"
	"schedlab/internal/record"
	"schedlab/internal/session"
)

// clusterFlags are the flags of the commands below cluster.
type clusterFlags struct {
	cluster.Settings
	context  string
	out      string
	dryRun   string
	deadline time.Duration
	keep     bool
}

// newCluster makes the command cluster, which runs a measuring command on Kubernetes.
func newCluster() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Run compare, gate or capacity on Kubernetes, with load from several Pods",
		Long: `Run compare, capacity or gate on the cluster that kubectl reaches. Each server is
a Pod of its own for each trial, the load comes from several Pods (shards) that start
together, and the record and report are those of the same command on one machine. A
load is dealt out request by request and put together again, so quantiles are those
of all requests.

It needs kubectl, a namespace in which you may create Jobs, Pods, Secrets, Roles and
NetworkPolicies, and schedlab's image where the cluster can pull it
(docs/guide/cluster.md). It installs no operator and no custom resource.`,
	}
	cmd.AddCommand(newClusterRun(), newClusterRender(), newClusterCollect(), newClusterClean())
	cmd.AddCommand(podCommands()...)
	return cmd
}

// measures are the commands that a cluster can run.
var measures = []string{"compare", "capacity", "gate"}

// measure makes one of measures.
func measure(name string) measuring {
	switch name {
	case "compare":
		return newCompare()
	case "gate":
		return newGate()
	}
	return newCapacity()
}

// newClusterRun makes the command that does it all.
func newClusterRun() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND...",
		Short: "Run a measuring command on the cluster, and fetch its record",
		Long: `Create the run's objects, follow it, fetch the record, print the command's answer, and
delete the objects. COMMAND is schedlab's compare, capacity or gate with its own
flags; a file among its words is sent along. Without one it is 'compare'.

An arm that is no mode is an image, whose process may not be root:
  --arm mine='image:registry.example/app@sha256:... -listen {addr}'

Ctrl-C ends the run early, fetches what was measured, and deletes the objects. If the
connection is lost for good, the run goes on: see 'schedlab cluster collect'.`,
		Example: `  schedlab cluster run --image registry.example/schedlab@sha256:... --shards 3
  schedlab cluster run --image ... -n load-tests --server-nodes pool=servers --load-nodes pool=load -- compare quick --arms nethttp,pool
  schedlab cluster run --image ... -- capacity --slo 'p99<=10ms'
  schedlab cluster run --image ... --dry-run server -- compare ./mine.yaml`,
		RunE: f.run,
	}
	f.bindSettings(cmd.Flags())
	f.bindCollect(cmd.Flags())
	oneOf(cmd.Flags(), &f.dryRun, "dry-run", "", "have the API server (server) or kubectl, which asks it for the kinds (client), check the objects, and create nothing", "server", "client")
	inSections(cmd,
		helpSection{"Pods", "image shards server-cpu shard-cpu server-nodes load-nodes rest pull pull-secret"},
		helpSection{"The run", "dry-run name namespace context deadline keep out help"},
	)
	return cmd
}

// newClusterRender makes the command that prints the objects.
func newClusterRender() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "render [flags] -- COMMAND...",
		Short: "Print the objects that run would create, as YAML",
		Example: `  schedlab cluster render --image registry.example/schedlab@sha256:... > run.yaml
  kubectl create -f run.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := f.job(cmd, args)
			if err != nil {
				return err
			}
			text, err := job.Render()
			if err == nil {
				_, err = cmd.OutOrStdout().Write(text)
			}
			return err
		},
	}
	f.bindSettings(cmd.Flags())
	cmd.Flags().StringVarP(&f.Namespace, "namespace", "n", "default", "namespace of the run")
	inSections(cmd,
		helpSection{"Pods", "image shards server-cpu shard-cpu server-nodes load-nodes rest pull pull-secret"},
		helpSection{"The run", "name namespace deadline help"},
	)
	return cmd
}

// newClusterCollect makes the command that fetches a run that goes on without us.
func newClusterCollect() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "collect NAME",
		Short: "Wait for a run that was cut off, fetch its record, and delete its objects",
		Example: `  schedlab cluster collect schedlab-3fa9c1
  schedlab cluster collect schedlab-3fa9c1 --keep`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := f.kubectl().Runs(cmd.Context())
			if err == nil && !slices.Contains(names, args[0]) {
				err = usagef("no run %q in namespace %s; there are: %s", args[0], f.Namespace, cmp.Or(strings.Join(names, ", "), "none"))
			}
			if err != nil {
				return err
			}
			return f.collect(cmd, args[0])
		},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			names, _ := f.kubectl().Runs(cmd.Context()) // no cluster, no completion
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.bindCollect(cmd.Flags())
	return cmd
}

// newClusterClean makes the command that deletes runs' objects.
func newClusterClean() *cobra.Command {
	var f clusterFlags
	var all bool
	cmd := &cobra.Command{
		Use:   "clean NAME|--all",
		Short: "Delete a run's objects from the cluster, and nothing else",
		Long: `Delete the objects with the label schedlab.dev/run=NAME in the namespace, or with --all
those of every run there. A run that goes on ends, and its record is lost.`,
		Example: `  schedlab cluster clean schedlab-3fa9c1
  schedlab cluster clean --all -n load-tests`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return usagef("clean needs the name of a run, or --all for every run in the namespace")
			}
			if err := begin(cmd.Context()); err != nil {
				return err
			}
			said, err := f.kubectl().Clean(cmd.Context(), strings.Join(args, ""))
			fmt.Fprint(cmd.OutOrStdout(), said)
			return err
		},
	}
	f.bindKubectl(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "delete the objects of every run in the namespace")
	return cmd
}

// bindKubectl declares the flags that say which cluster.
func (f *clusterFlags) bindKubectl(fl *pflag.FlagSet) {
	fl.StringVar(&f.context, "context", "", "kubectl's context (default its current one)")
	fl.StringVarP(&f.Namespace, "namespace", "n", "default", "namespace of the run")
}

// bindCollect declares the flags of the commands that fetch a record.
func (f *clusterFlags) bindCollect(fl *pflag.FlagSet) {
	f.bindKubectl(fl)
	fl.StringVar(&f.out, "out", record.DefaultRoot, "directory of run records")
	fl.BoolVar(&f.keep, "keep", false, "leave the objects in the cluster")
}

// bindSettings declares the flags of a new run, but for the namespace.
func (f *clusterFlags) bindSettings(fl *pflag.FlagSet) {
	fl.StringVar(&f.Name, "name", "", "name of the run, and prefix of its objects' (default schedlab- and six random digits)")
	fl.StringVar(&f.Image, "image", "", "schedlab's image, best by digest: registry.example/schedlab@sha256:... (deploy/Dockerfile builds it)")
	oneOf(fl, &f.Pull, "pull", "IfNotPresent", "when the image is pulled", "IfNotPresent", "Always", "Never")
	fl.StringVar(&f.PullSecret, "pull-secret", "", "name of the Secret with which images are pulled (kubectl create secret docker-registry)")
	fl.IntVar(&f.Shards, "shards", 2, "Pods that send the load, 1 to 1000")
	fl.IntVar(&f.ServerCPU, "server-cpu", 1, "CPUs of a server: its request, its limit and so its GOMAXPROCS")
	fl.StringVar(&f.ShardCPU, "shard-cpu", "1", "CPUs of a shard, like 2 or 500m: its request and its limit")
	fl.StringToStringVar(&f.ServerNodes, "server-nodes", nil, "labels of the nodes for servers, like pool=servers (default any); taints that equal a label are tolerated")
	fl.StringToStringVar(&f.LoadNodes, "load-nodes", nil, "labels of the nodes for shards and collector (default any; servers avoid their nodes where they can)")
	oneOf(fl, &f.Rest, "rest", "auto", "what a shard does while nothing is due: spin, wait, or auto (spin on nodes of four CPUs or more)", "auto", "spin", "wait")
	fl.DurationVar(&f.deadline, "deadline", 2*time.Hour, "time after which the cluster ends the run, whatever happens")
}

// kubectl returns the way to the cluster.
func (f *clusterFlags) kubectl() cluster.Kubectl {
	return cluster.Kubectl{Context: f.context, Namespace: f.Namespace}
}

// objectName is the form of a run's name: a name of a Kubernetes object, with room for our endings.
var objectName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,38}[a-z0-9]$`)

// quantity is the form of a number of CPUs.
var quantity = regexp.MustCompile(`^([1-9][0-9]{0,3}|[1-9][0-9]{1,4}m)$`)

// job returns the run that the flags and arguments ask for.
func (f *clusterFlags) job(cmd *cobra.Command, args []string) (cluster.Job, error) {
	if len(args) == 0 {
		args = []string{"compare"}
	}
	f.Name = cmp.Or(f.Name, fmt.Sprintf("schedlab-%06x", mathrand.Uint32N(1<<24)))
	f.Token = rand.Text()
	err := mistakes{
		{!slices.Contains(measures, args[0]), fmt.Sprintf("a cluster runs %s, not %q; give it after --, like: schedlab cluster run --image IMAGE -- compare quick",
			strings.Join(measures, ", "), args[0])},
		{f.Image == "", "no --image: build deploy/Dockerfile, push it where the cluster can pull it, and name it, best by digest"},
		{!objectName.MatchString(f.Name), fmt.Sprintf("--name %q: give 2 to 40 small letters, digits and hyphens, a letter first", f.Name)},
		{f.Shards < 1 || f.Shards > 1000, fmt.Sprintf("--shards %d: give 1 to 1000", f.Shards)},
		{f.ServerCPU < 1, fmt.Sprintf("--server-cpu %d: give whole CPUs, at least 1", f.ServerCPU)},
		{!quantity.MatchString(f.ShardCPU), fmt.Sprintf("--shard-cpu %q: give a number of CPUs, like 2 or 500m", f.ShardCPU)},
		{f.deadline < time.Minute, fmt.Sprintf("--deadline %v: give at least a minute", f.deadline)},
	}.first()
	if err != nil {
		return cluster.Job{}, err
	}
	for _, taken := range []string{"--out", "--progress", "--cluster", "--cpus", "--pin", "--server-cpus", "--load-cpus"} {
		if i := slices.IndexFunc(args, func(w string) bool { return w == taken || strings.HasPrefix(w, taken+"=") }); i >= 0 {
			return cluster.Job{}, usagef("%s of %s means nothing on a cluster; give --out, --server-cpu, --server-nodes and the like before --", taken, args[0])
		}
	}
	// A mistake would be found in the collector's Pod, after the image was pulled. The Pod has nothing of the environment
	// here, and so it does not count.
	o, err := measure(args[0]).parse(cmd, args[1:], fromFile)
	if err != nil {
		return cluster.Job{}, err
	}
	j := cluster.Job{Settings: f.Settings, Deadline: int(f.deadline.Seconds())}
	if err := send(&j, o.Common()); err != nil {
		return j, usage(err)
	}
	o.Progress, o.Common().Cluster, o.Common().Out = "plain", cluster.SettingsFile, cluster.RunsDir
	text, err := o.JSON()
	j.Request = string(text)
	return j, err
}

// send sends the files along that a request names, and names them as the Pod has them.
func send(j *cluster.Job, r *session.Common) (err error) {
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
	file, _, err := session.SplitLog(r.Log)
	if err != nil {
		return err
	}
	sent, err := j.Send(file)
	r.Log = sent + strings.TrimPrefix(r.Log, file)
	return err
}

// podCommands makes the commands that run in a run's Pods: a shard's, and three in the collector's Pod. They carry out
// a request, wait for its end and write its record, and end it early.
func podCommands() []*cobra.Command {
	var rest string
	shard := &cobra.Command{Use: "shard", Short: "Send parts of a load as a collector asks (in a Pod)", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := begin(cmd.Context()); err != nil {
				return err
			}
			return cluster.NewShard(os.Getenv("SHARD_TOKEN"), rest).Serve(cmd.Context(), cluster.ShardAddr)
		}}
	oneOf(shard.Flags(), &rest, "rest", "auto", "what it does while nothing is due", "auto", "spin", "wait")
	var request string
	collector := &cobra.Command{Use: "collector", Short: "Carry out a request on the cluster (in a Pod)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if request == "" {
				return usagef("no --request: this run was made by another schedlab than the one in this image; take the same version for both")
			}
			if err := begin(cmd.Context()); err != nil {
				return err
			}
			return cluster.Collect(cmd.Context(), []string{self(), orderCommand}, request, cmd.ErrOrStderr())
		}}
	collector.Flags().StringVar(&request, "request", "", "file of the request, as JSON")
	all := []*cobra.Command{shard,
		collector,
		{Use: "pack", Short: "Wait for the command's end and write its record (in a Pod)", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				if err := begin(cmd.Context()); err != nil {
					return err
				}
				return cluster.Pack(cmd.Context(), cmd.OutOrStdout())
			}},
		{Use: "interrupt", Short: "End the command early (in a Pod)", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return cluster.Interrupt() }},
	}
	for _, cmd := range all {
		cmd.Hidden = true
	}
	return all
}

// run creates a run's objects and collects it.
func (f *clusterFlags) run(cmd *cobra.Command, args []string) error {
	job, err := f.job(cmd, args)
	if err != nil {
		return err
	}
	objects, err := job.Render()
	if err != nil {
		return err
	}
	if err := begin(cmd.Context()); err != nil {
		return err
	}
	say := cmd.ErrOrStderr()
	said, err := f.kubectl().Create(cmd.Context(), objects, f.dryRun)
	if f.dryRun != "" {
		fmt.Fprint(cmd.OutOrStdout(), said)
		return err
	}
	if err != nil {
		if said != "" { // some objects are there: a quota is counted object by object
			f.clean(say, job.Name)
		}
		return err
	}
	fmt.Fprintf(say, "run %s in namespace %s; if this is cut off: schedlab cluster collect %s%s\n", job.Name, f.Namespace, job.Name, f.where())
	return f.collect(cmd, job.Name)
}

// where returns the flags that name the cluster, for a command to copy.
func (f *clusterFlags) where() (flags string) {
	if f.Namespace != "default" {
		flags += " -n " + f.Namespace
	}
	if f.context != "" {
		flags += " --context " + f.context
	}
	return flags
}

// stopLimit is how long an interrupted run may take to end, to be fetched and to be deleted.
const stopLimit = 90 * time.Second

// collect waits for a run's end, fetches its record, prints its answer and deletes its objects. They stay
// if the record was not fetched and may still be there.
func (f *clusterFlags) collect(cmd *cobra.Command, run string) error {
	if err := begin(cmd.Context()); err != nil {
		return err
	}
	k, ctx, say := f.kubectl(), cmd.Context(), cmd.ErrOrStderr()
	var got cluster.Fetched
	pod, err := k.Await(ctx, run)
	if err == nil {
		got, err = f.fetch(ctx, run, pod, say)
	}
	_, gone := errors.AsType[*cluster.GoneError](err)
	if err == nil || gone || errors.Is(err, session.ErrInterrupted) {
		f.clean(say, run)
	} else {
		err = fmt.Errorf("%w; the record may still be fetched: schedlab cluster collect %s%s", err, run, f.where())
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return &exitError{Code: exitInterrupted, Err: err}
	case err != nil:
		return err
	}
	// The command's answer names the record where it was, in the Pod.
	answer := string(got.Answer)
	for _, dir := range got.Dirs {
		answer = strings.ReplaceAll(answer, "runs/"+filepath.Base(dir), dir)
	}
	if _, err := io.WriteString(cmd.OutOrStdout(), answer); err != nil {
		return err
	}
	return exit(got.Exit)
}

// fetch shows the progress of a run and fetches its record. After an interrupt it ends the run first.
func (f *clusterFlags) fetch(ctx context.Context, run, pod string, say io.Writer) (cluster.Fetched, error) {
	k := f.kubectl()
	following, stop := context.WithCancel(ctx)
	defer stop()
	go k.Follow(following, pod, say)
	got, err := k.Fetch(ctx, run, pod, f.out)
	if err == nil || ctx.Err() == nil {
		return got, err
	}
	fmt.Fprintln(say, "ending the run, and fetching what was measured")
	late, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), stopLimit, fmt.Errorf("the run does not end within %v", stopLimit))
	defer cancel()
	if err = k.Interrupt(late, pod); err == nil {
		got, err = k.Fetch(late, run, pod, f.out)
	}
	return got, err
}

// clean deletes a run's objects, unless they are to be kept. It is part of a run's end, so it
// takes its own time, and its failure does not change how the run ended.
func (f *clusterFlags) clean(say io.Writer, run string) {
	if f.keep {
		fmt.Fprintf(say, "the objects stay; delete them with: schedlab cluster clean %s%s\n", run, f.where())
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if _, err := f.kubectl().Clean(ctx, run); err != nil {
		fmt.Fprintf(say, "schedlab: the objects of %s may still be there: %v; delete them with: schedlab cluster clean %s%s\n", run, err, run, f.where())
	}
}
