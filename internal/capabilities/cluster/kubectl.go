package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A Kubectl is the user's way to the cluster: the program kubectl with its own configuration, and these
// flags.
type Kubectl struct {
	Context, Namespace string
}

// program is where the image has schedlab.
const program = "/schedlab"

// command returns kubectl with arguments. An interrupt of this program does not reach it.
func (k Kubectl) command(ctx context.Context, args ...string) *exec.Cmd {
	var flags []string
	if k.Context != "" {
		flags = append(flags, "--context", k.Context)
	}
	cmd := exec.CommandContext(ctx, "kubectl", append(append(flags, "--namespace", k.Namespace), args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// run runs kubectl and returns its output. The error is kubectl's last line.
func (k Kubectl) run(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	cmd := k.command(ctx, args...)
	cmd.Stdin = bytes.NewReader(in)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	return out.Bytes(), k.failed(ctx, args[0], err, said.String())
}

// failed returns the error of a kubectl.
func (k Kubectl) failed(ctx context.Context, verb string, err error, said string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("kubectl is not installed; schedlab reaches a cluster through it")
	}
	// It says the same of each object, and logs its own tries to learn the API's kinds.
	var lines []string
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "memcache.go:") && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 { // as when it was killed
		return fmt.Errorf("kubectl %s: %w", verb, err)
	}
	return fmt.Errorf("kubectl %s: %s", verb, strings.Join(lines, "; "))
}

// Create creates the objects. dryRun is server or client to have them only checked there, or "".
func (k Kubectl) Create(ctx context.Context, objects []byte, dryRun string) (string, error) {
	args := []string{"create", "-f", "-"}
	if dryRun != "" {
		args = append(args, "--dry-run="+dryRun)
	}
	out, err := k.run(ctx, objects, args...)
	return string(out), err
}

// get returns the objects of a kind with these labels. A pod holds the name and the labels of each, whatever its kind.
func (k Kubectl) get(ctx context.Context, kind, labels string) ([]pod, error) {
	text, err := k.run(ctx, nil, "get", kind, "-l", labels, "-o", "json")
	var list struct{ Items []pod }
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list.Items, err
}

// A GoneError says why a run has no record to fetch, and never will. After any other error it may
// still go on.
type GoneError struct{ msg string }

func (e *GoneError) Error() string { return e.msg }

// Await waits until the run's collector runs, and returns its Pod. The error is a [*GoneError] if it
// does not run.
func (k Kubectl) Await(ctx context.Context, run string) (string, error) {
	deadline := time.Now().Add(shardLimit)
	for {
		pods, err := k.get(ctx, "pods", partLabels(run, "collector"))
		if err != nil {
			return "", err
		}
		waits := "its Job has made no Pod: see kubectl -n " + k.Namespace + " describe job " + run + "-collector"
		if len(pods) > 0 {
			p := pods[0]
			see := fmt.Sprintf("; see kubectl -n %s describe pod %s", k.Namespace, p.Metadata.Name)
			if why := p.stuck(); why != "" {
				return "", &GoneError{fmt.Sprintf("the collector's Pod %s does not run: %s%s%s", p.Metadata.Name, why, cmp.Or(p.otherVersion(), p.otherImage()), see)}
			}
			if p.running() {
				return p.Metadata.Name, nil
			}
			waits = p.waits() + see
		}
		if time.Now().After(deadline) {
			return "", &GoneError{fmt.Sprintf("the collector does not run after %v: %s", shardLimit, waits)}
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// Follow copies the collector's log until it ends or ctx does.
func (k Kubectl) Follow(ctx context.Context, pod string, to io.Writer) {
	cmd := k.command(ctx, "logs", "--follow", pod)
	cmd.Stdout = to
	_ = cmd.Run() // it is progress only
}

// Fetch waits until the run's command has ended, and puts its records below root. A connection that
// breaks is made again as long as the collector runs. The error is a [*GoneError] if it does not run any
// more, an [*fs.PathError] if the records cannot be written here, and another that says so if they are too large.
func (k Kubectl) Fetch(ctx context.Context, run, pod, root string) (Fetched, error) {
	for {
		got, err := k.fetchOnce(ctx, pod, root)
		if err == nil || lasting(err) || ctx.Err() != nil {
			return got, err
		}
		pods, asked := k.get(ctx, "pods", partLabels(run, "collector"))
		if asked == nil && (len(pods) == 0 || !pods[0].running()) {
			other := ""
			if len(pods) > 0 {
				other = pods[0].otherVersion()
			}
			return got, &GoneError{fmt.Sprintf("the collector is gone, and its record with it (%v)%s; see kubectl -n %s get events", err, other, k.Namespace)}
		}
		if pause(ctx, time.Second) != nil {
			return got, err
		}
	}
}

// fetchOnce is one try of Fetch.
func (k Kubectl) fetchOnce(ctx context.Context, pod, root string) (Fetched, error) {
	cmd := k.command(ctx, "exec", pod, "--", program, "cluster", "pack")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Fetched{}, err
	}
	if err := cmd.Start(); err != nil {
		return Fetched{}, k.failed(ctx, "exec", err, "")
	}
	got, bad := unpack(out, root, mostFetched)
	if lasting(bad) {
		_ = out.Close() // so that kubectl does not wait for what it still has to write to be read
		_ = cmd.Wait()
		if errors.Is(bad, ErrTooLarge) {
			at := "-n " + k.Namespace
			if k.Context != "" {
				at += " --context " + k.Context
			}
			bad = fmt.Errorf("%w: more than %d GiB, of which a part lies below %s; this takes all of it: kubectl %s exec %s -- %s cluster pack > record.tar.gz", bad, mostFetched>>30, root, at, pod, program)
		}
		return got, bad
	}
	_, _ = io.Copy(io.Discard, out) // the rest, which kubectl still has to write
	if err := k.failed(ctx, "exec", cmd.Wait(), said.String()); err != nil {
		return got, err
	}
	if bad != nil {
		return got, fmt.Errorf("reading the record from %s: %w", pod, bad)
	}
	return got, nil
}

// lasting reports whether an error of fetchOnce would come again: the records cannot be written here, or are too large.
func lasting(err error) bool {
	_, here := errors.AsType[*fs.PathError](err)
	return here || errors.Is(err, ErrTooLarge)
}

// Interrupt makes the run's command end early. It then still has its record.
func (k Kubectl) Interrupt(ctx context.Context, pod string) error {
	_, err := k.run(ctx, nil, "exec", pod, "--", program, "cluster", "interrupt")
	return err
}

// kinds are the kinds of a run's objects.
const kinds = "job,pod,secret,networkpolicy,rolebinding,role,serviceaccount"

// Clean deletes the objects of a run, or of every run in the namespace if run is "". It deletes nothing
// else, waits until they are gone, and returns kubectl's lines.
func (k Kubectl) Clean(ctx context.Context, run string) (string, error) {
	label := runLabel
	if run != "" {
		label += "=" + run
	}
	out, err := k.run(ctx, nil, "delete", kinds, "-l", label, "--ignore-not-found", "--timeout=60s")
	return string(out), err
}

// Runs returns the names of the runs in the namespace.
func (k Kubectl) Runs(ctx context.Context) (names []string, err error) {
	jobs, err := k.get(ctx, "job", runLabel)
	for _, job := range jobs {
		names = with(names, job.Metadata.Labels[runLabel])
	}
	return names, err
}
