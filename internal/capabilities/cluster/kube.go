package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// A kube is the cluster's API with the rights of the Pod's service account: in its own namespace, and only
// what the run's Role allows.
type kube struct {
	base   string // URL of the namespace
	token  string // file of the service account's token, which the kubelet renews
	client *http.Client
}

// Where a Pod finds its service account.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// newKube returns the API as this Pod may use it.
func newKube(namespace string) (*kube, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" {
		return nil, errors.New("this is no Pod of a cluster: KUBERNETES_SERVICE_HOST is not set; `schedlab cluster run` starts it as one")
	}
	authority, err := os.ReadFile(accountDir + "/ca.crt")
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return &kube{
		base:   "https://" + net.JoinHostPort(host, port) + "/api/v1/namespaces/" + namespace,
		token:  accountDir + "/token",
		client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}},
	}, nil
}

// An apiError is an answer of the API other than success.
type apiError struct {
	code   int
	reason string // like AlreadyExists
	words  string
}

func (e *apiError) Error() string { return fmt.Sprintf("the API answers %d: %s", e.code, e.words) }

// patience is how long a request is tried again after answers of 429 or 5xx and broken connections.
const patience = 30 * time.Second

// do sends a request below the namespace's URL and decodes the reply into out: JSON, or text for a
// *[]byte. It tries again as long as the API is overloaded or away.
func (k *kube) do(ctx context.Context, method, path, kind string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 3*time.Second) {
		err := k.once(ctx, method, path, kind, body, out)
		refused, answered := errors.AsType[*apiError](err)
		if err == nil || answered && refused.code != http.StatusTooManyRequests && refused.code < http.StatusInternalServerError {
			return err
		}
		if pause(ctx, wait) != nil {
			return err
		}
	}
}

// once is one try of do.
func (k *kube) once(ctx context.Context, method, path, kind string, body []byte, out any) error {
	token, err := os.ReadFile(k.token)
	if err != nil {
		return fmt.Errorf("reading the service account's token: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, method, k.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", kind)
	reply, err := k.client.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, 16<<20))
	if err != nil {
		return err
	}
	if reply.StatusCode >= http.StatusMultipleChoices {
		var status struct{ Reason, Message string }
		_ = json.Unmarshal(text, &status) // without a status in it the text is the message
		if status.Message == "" {
			status.Message = strings.TrimSpace(string(text[:min(len(text), 200)]))
		}
		return &apiError{reply.StatusCode, status.Reason, status.Message}
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *[]byte:
		*out = text
		return nil
	}
	return json.Unmarshal(text, out)
}

// A pod holds the parts of a Pod's state that are used here.
type pod struct {
	Metadata struct {
		Name        string
		Annotations map[string]string
		Labels      map[string]string
	}
	Spec   struct{ NodeName string }
	Status struct {
		Phase, PodIP, Reason, Message string
		Conditions                    []condition
		ContainerStatuses             []struct {
			State struct {
				Waiting    *struct{ Reason, Message string }
				Terminated *struct {
					Reason   string
					ExitCode int
				}
			}
		}
	}
}

// A condition is one of a Pod's, like PodScheduled.
type condition struct{ Type, Status, Reason, Message string }

// running reports whether the Pod's container runs and has an address.
func (p pod) running() bool { return p.Status.Phase == "Running" && p.Status.PodIP != "" }

// ended tells how the Pod ended, "" if it has not.
func (p pod) ended() string {
	if p.Status.Phase != "Failed" && p.Status.Phase != "Succeeded" {
		return ""
	}
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			return fmt.Sprintf("%s, exit code %d", t.Reason, t.ExitCode)
		}
	}
	return strings.TrimSpace(p.Status.Phase + " " + p.Status.Reason + " " + p.Status.Message)
}

// otherVersion explains a collector that did not take its own command line; "" for any other Pod. A mistake in the
// request is not the collector's: it is in the record.
func (p pod) otherVersion() string {
	const usage = 2 // the exit code
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode == usage {
			return "; its image is of another schedlab than this one, which gives it a request as JSON: take the same version for both (--image)"
		}
	}
	return ""
}

// otherImage names the flags that may help if the collector's image cannot be pulled; "" for any other Pod.
func (p pod) otherImage() string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && strings.Contains(w.Reason, "Image") {
			return "; give another --image, --pull or --pull-secret"
		}
	}
	return ""
}

// stuck tells why the Pod will not run without help; "" if it may, or does.
func (p pod) stuck() string {
	if end := p.ended(); end != "" {
		return "it has ended: " + end
	}
	for _, c := range p.Status.ContainerStatuses {
		w := c.State.Waiting
		if w == nil {
			continue
		}
		switch w.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff":
			return strings.TrimSpace(w.Reason + ": " + w.Message)
		}
	}
	return ""
}

// waits tells what a Pod that does not run yet waits for.
func (p pod) waits() string {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return c.Reason + ": " + c.Message
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			return strings.TrimSpace(w.Reason + " " + w.Message)
		}
	}
	return "phase " + p.Status.Phase
}

// place tells a Pod that no node takes which flags ask for its place; "" for other Pods. cpu is the flag of its CPUs with the
// value, nodes the flag of its nodes' labels.
func (p pod) place(cpu, nodes string, labels map[string]string) string {
	if !slices.ContainsFunc(p.Status.Conditions, func(c condition) bool { return c.Type == "PodScheduled" && c.Status == "False" }) {
		return ""
	}
	if len(labels) == 0 {
		return fmt.Sprintf(" (it asks for %s, on any node)", cpu)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, name+"="+labels[name])
	}
	return fmt.Sprintf(" (it asks for %s, and %s %s)", cpu, nodes, strings.Join(all, ","))
}

// pods returns the Pods with all of these labels.
func (k *kube) pods(ctx context.Context, labels string) ([]pod, error) {
	var list struct{ Items []pod }
	err := k.do(ctx, http.MethodGet, "/pods?labelSelector="+labels, "application/json", nil, &list)
	return list.Items, err
}

func (k *kube) pod(ctx context.Context, name string) (p pod, err error) {
	err = k.do(ctx, http.MethodGet, "/pods/"+name, "application/json", nil, &p)
	return p, err
}

// create creates a Pod. No other has its name, so one that exists already was made by an earlier try, whose answer was lost.
func (k *kube) create(ctx context.Context, pod []byte) error {
	err := k.do(ctx, http.MethodPost, "/pods", "application/yaml", pod, nil)
	if refused, ok := errors.AsType[*apiError](err); ok && refused.reason == "AlreadyExists" { // other answers of 409 are refusals
		return nil
	}
	return err
}

// log returns the end of a Pod's log, nil if it cannot be read.
func (k *kube) log(ctx context.Context, name string) (text []byte) {
	_ = k.do(ctx, http.MethodGet, "/pods/"+name+"/log?limitBytes=65536&tailLines=200", "application/json", nil, &text)
	return text
}

// delete deletes a Pod, which then has this many seconds to end. One that is gone is no error.
func (k *kube) delete(ctx context.Context, name string, grace int) error {
	err := k.do(ctx, http.MethodDelete, fmt.Sprintf("/pods/%s?gracePeriodSeconds=%d", name, grace), "application/json", nil, nil)
	if refused, ok := errors.AsType[*apiError](err); ok && refused.code == http.StatusNotFound {
		return nil
	}
	return err
}
