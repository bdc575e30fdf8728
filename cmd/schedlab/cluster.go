package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/cluster"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/record"
)

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
		Example: `  schedlab cluster run --image registry.example/OWNER/schedlab@sha256:... -- compare quick
  schedlab cluster render --image registry.example/OWNER/schedlab@sha256:... > run.yaml
  schedlab cluster collect schedlab-3fa9c1
  schedlab cluster clean --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{onlyHelps: "yes"},
	}
	cmd.AddCommand(newClusterRun(), newClusterRender(), newClusterCollect(), newClusterClean())
	cmd.AddCommand(podCommands()...)
	return cmd
}

// measures are the commands that a cluster can run.
var measures = []string{"compare", "capacity", "gate"}

// measure makes the command with one of these names.
func measure(name string) measuring {
	switch name {
	case "compare":
		return newCompare()
	case "gate":
		return newGate()
	}
	return newCapacity()
}

// newClusterRun makes the command that creates a run's objects, follows it, fetches its record and deletes the objects.
func newClusterRun() *cobra.Command {
	var f session.Cluster
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
		Example: `  schedlab cluster run --image registry.example/OWNER/schedlab@sha256:... --shards 3
  schedlab cluster run --image ... -n load-tests --server-nodes pool=servers --load-nodes pool=load -- compare quick --arms nethttp,pool
  schedlab cluster run --image ... -- capacity --slo 'p99<=10ms'
  schedlab cluster run --image ... --dry-run server -- compare ./mine.yaml`,
		ValidArgs: measures,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := order(cmd, args)
			if err != nil {
				return err
			}
			answer, err := f.Run(cmd.Context(), thisProgram(), o, cmd.ErrOrStderr())
			return printAnswer(cmd, answer, err)
		},
	}
	bindSettings(cmd.Flags(), &f)
	bindCollect(cmd.Flags(), &f)
	oneOf(cmd.Flags(), &f.DryRun, "dry-run", "", "have the API server (server) or kubectl, which asks it for the kinds (client), check the objects, and create nothing", "server", "client")
	inSections(cmd,
		helpSection{"Pods", "image shards server-cpu shard-cpu server-nodes load-nodes rest pull pull-secret"},
		helpSection{"The run", "dry-run name namespace context deadline keep out help"},
	)
	return cmd
}

// newClusterRender makes the command that prints the objects.
func newClusterRender() *cobra.Command {
	var f session.Cluster
	cmd := &cobra.Command{
		Use:   "render [flags] -- COMMAND...",
		Short: "Print the objects that run would create, as YAML",
		Example: `  schedlab cluster render --image registry.example/OWNER/schedlab@sha256:... > run.yaml
  kubectl create -f run.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := order(cmd, args)
			if err != nil {
				return err
			}
			text, err := f.Objects(o)
			if err == nil {
				_, err = cmd.OutOrStdout().Write(text)
			}
			return err
		},
	}
	bindSettings(cmd.Flags(), &f)
	cmd.Flags().StringVarP(&f.Namespace, "namespace", "n", "default", "namespace of the run")
	inSections(cmd,
		helpSection{"Pods", "image shards server-cpu shard-cpu server-nodes load-nodes rest pull pull-secret"},
		helpSection{"The run", "name namespace deadline help"},
	)
	return cmd
}

// newClusterCollect makes the command that fetches a run that goes on without us.
func newClusterCollect() *cobra.Command {
	var f session.Cluster
	cmd := &cobra.Command{
		Use:   "collect NAME",
		Short: "Wait for a run that was cut off, fetch its record, and delete its objects",
		Example: `  schedlab cluster collect schedlab-3fa9c1
  schedlab cluster collect schedlab-3fa9c1 --keep`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := f.Kubectl().Runs(cmd.Context())
			if err == nil && !slices.Contains(names, args[0]) {
				err = session.Usagef("no run %q in namespace %s; there are: %s", args[0], f.Namespace, cmp.Or(strings.Join(names, ", "), "none"))
			}
			if err != nil {
				return err
			}
			answer, err := f.Collect(cmd.Context(), thisProgram(), args[0], cmd.ErrOrStderr())
			return printAnswer(cmd, answer, err)
		},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			names, _ := f.Kubectl().Runs(cmd.Context()) // no cluster, no completion
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	bindCollect(cmd.Flags(), &f)
	return cmd
}

// newClusterClean makes the command that deletes runs' objects.
func newClusterClean() *cobra.Command {
	var f session.Cluster
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
				return session.Usagef("clean needs the name of a run, or --all for every run in the namespace")
			}
			if err := begin(cmd.Context()); err != nil {
				return err
			}
			said, err := f.Kubectl().Clean(cmd.Context(), strings.Join(args, ""))
			fmt.Fprint(cmd.OutOrStdout(), said)
			return err
		},
	}
	bindKubectl(cmd.Flags(), &f)
	cmd.Flags().BoolVar(&all, "all", false, "delete the objects of every run in the namespace")
	return cmd
}

// bindKubectl declares the flags that say which cluster.
func bindKubectl(fl *pflag.FlagSet, f *session.Cluster) {
	fl.StringVar(&f.Context, "context", "", "kubectl's context (default its current one)")
	fl.StringVarP(&f.Namespace, "namespace", "n", "default", "namespace of the run")
}

// bindCollect declares the flags of the commands that fetch a record.
func bindCollect(fl *pflag.FlagSet, f *session.Cluster) {
	bindKubectl(fl, f)
	fl.StringVar(&f.Out, "out", record.DefaultRoot, "directory of run records")
	fl.BoolVar(&f.Keep, "keep", false, "leave the objects in the cluster")
}

// bindSettings declares the flags of a new run, but for the namespace.
func bindSettings(fl *pflag.FlagSet, f *session.Cluster) {
	fl.StringVar(&f.Name, "name", "", "name of the run, and prefix of its objects' (default schedlab- and six random digits)")
	fl.StringVar(&f.Image, "image", "", "schedlab's image, best by digest: registry.example/OWNER/schedlab@sha256:... (deploy/Dockerfile builds it)")
	oneOf(fl, &f.Pull, "pull", "IfNotPresent", "when the image is pulled", "IfNotPresent", "Always", "Never")
	fl.StringVar(&f.PullSecret, "pull-secret", "", "name of the Secret with which images are pulled (kubectl create secret docker-registry)")
	fl.IntVar(&f.Shards, "shards", 2, "Pods that send the load, 1 to 1000")
	fl.IntVar(&f.ServerCPU, "server-cpu", 1, "CPUs of a server: its request, its limit and so its GOMAXPROCS")
	fl.StringVar(&f.ShardCPU, "shard-cpu", "1", "CPUs of a shard, like 2 or 500m: its request and its limit")
	fl.StringToStringVar(&f.ServerNodes, "server-nodes", nil, "labels of the nodes for servers, like pool=servers (default any); taints that equal a label are tolerated")
	fl.StringToStringVar(&f.LoadNodes, "load-nodes", nil, "labels of the nodes for shards and collector (default any; servers avoid their nodes where they can)")
	oneOf(fl, &f.Rest, "rest", "auto", "what a shard does while nothing is due: spin, wait, or auto (spin on nodes of four CPUs or more)", "auto", "spin", "wait")
	fl.DurationVar(&f.Deadline, "deadline", 2*time.Hour, "time after which the cluster ends the run, whatever happens")
}

// order reads the command that a cluster is to run.
func order(cmd *cobra.Command, args []string) (o session.Order, err error) {
	if len(args) == 0 {
		args = []string{"compare"}
	}
	if !slices.Contains(measures, args[0]) {
		return o, session.Usagef("a cluster runs %s, not %q; give it after --, like: schedlab cluster run --image IMAGE -- compare quick",
			strings.Join(measures, ", "), args[0])
	}
	const cpus = "give --server-cpu, --shard-cpu, --server-nodes and --load-nodes before --"
	for _, taken := range [][2]string{
		{"--out", "give --out before --"}, {"--progress", "leave it out: the run's lines are shown as they come"},
		{"--cpus", cpus}, {"--pin", cpus}, {"--server-cpus", cpus}, {"--load-cpus", cpus},
	} {
		flag, mend := taken[0], taken[1]
		if slices.ContainsFunc(args, func(w string) bool { return w == flag || strings.HasPrefix(w, flag+"=") }) {
			return o, session.Usagef("%s of %s means nothing on a cluster; %s", flag, args[0], mend)
		}
	}
	// The environment here is not the Pod's, so it sets no flag.
	return measure(args[0]).parse(cmd, args[1:], fromFile)
}

func printAnswer(cmd *cobra.Command, answer string, err error) error {
	if answer == "" {
		return err
	}
	_, bad := io.WriteString(cmd.OutOrStdout(), answer)
	return alsoPrinted(err, bad)
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
			return cluster.ServeShard(cmd.Context(), cluster.ShardAddr, os.Getenv("SHARD_TOKEN"), rest)
		}}
	oneOf(shard.Flags(), &rest, "rest", "auto", "what it does while nothing is due", "auto", "spin", "wait")
	var request string
	collector := &cobra.Command{Use: "collector", Short: "Carry out a request on the cluster (in a Pod)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if request == "" {
				return session.Usagef("no --request: this run was made by another schedlab than the one in this image; take the same version for both")
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
