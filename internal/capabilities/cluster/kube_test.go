package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"schedlab/internal/shared/cmdline"
)

// A fakeAPI is an API server with Pods that run, or do not, at once.
type fakeAPI struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // method and path of every request
	made   []string // bodies of Pods created
	refuse []int    // codes of the next answers
	reason string   // in them
	status string   // of every Pod
}

// newFakeAPI returns the API, and a site in it without shards.
func newFakeAPI(t *testing.T) (*fakeAPI, *Site) {
	api := &fakeAPI{status: `{"phase":"Running","podIP":"127.0.0.1"}`}
	api.Server = httptest.NewServer(api)
	t.Cleanup(api.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t0k3n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Settings{Name: "run", Namespace: "ns", Image: "img@sha256:1", Pull: "Never", Shards: 1, ServerCPU: 2, ShardCPU: "1"}
	return api, &Site{Settings: s, self: "/schedlab", kube: &kube{base: api.URL, token: token, client: api.Client()}, client: api.Client()}
}

func (api *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api.mu.Lock()
	defer api.mu.Unlock()
	api.asked = append(api.asked, r.Method+" "+r.URL.Path)
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.Header.Get("Authorization") != "Bearer t0k3n":
		w.WriteHeader(http.StatusUnauthorized)
	case len(api.refuse) > 0:
		w.WriteHeader(api.refuse[0])
		api.refuse = api.refuse[1:]
		fmt.Fprintf(w, `{"reason":%q,"message":"not now"}`, api.reason)
	case r.Method == http.MethodPost:
		api.made = append(api.made, string(body))
		fmt.Fprint(w, "{}")
	case strings.HasSuffix(r.URL.Path, "/log"):
		fmt.Fprint(w, "its last words")
	case r.URL.Path == "/pods":
		fmt.Fprintf(w, `{"items":[{"metadata":{"name":"run-load-0","annotations":{"batch.kubernetes.io/job-completion-index":"0"}},"spec":{"nodeName":"a"},"status":%s}]}`, api.status)
	default:
		fmt.Fprintf(w, `{"metadata":{"name":"p"},"spec":{"nodeName":"b"},"status":%s}`, api.status)
	}
}

// TestServerIsAPod: a server's command becomes a Pod with its arguments, which is deleted when it is
// stopped.
func TestServerIsAPod(t *testing.T) {
	api, site := newFakeAPI(t)
	r, err := site.Start(t.Context(), []string{"GOGC=400", "/schedlab", "serve", "--mode", "pool", "--addr", cmdline.AddrMark, "--admin", cmdline.AdminMark})
	if err != nil {
		t.Fatal(err)
	}
	if r.Addr != "127.0.0.1:8080" || r.Admin != "127.0.0.1:9090" || string(r.Log()) != "its last words" {
		t.Errorf("addresses %s and %s, log %q", r.Addr, r.Admin, r.Log())
	}
	for _, want := range []string{
		`image: "img@sha256:1"`, `args: ["serve", "--mode", "pool", "--addr", "0.0.0.0:8080", "--admin", "0.0.0.0:9090"]`, `{name: "GOGC", value: "400"}`,
		`{name: GOMAXPROCS, value: "2"}`, `limits: {cpu: "2"`, "schedlab.dev/run: run", "runAsUser: 65532",
	} {
		if !strings.Contains(api.made[0], want) {
			t.Errorf("the Pod lacks %s:\n%s", want, api.made[0])
		}
	}
	if err := r.Stop(); err != nil || !slices.Contains(api.asked, "DELETE /pods/run-server-1") {
		t.Errorf("stop: %v; asked %q", err, api.asked)
	}
	// An image of somebody else runs as the user it says, with its own arguments.
	if _, err := site.Start(t.Context(), []string{"image:reg/app@sha256:2", "-listen", cmdline.AddrMark}); err != nil || !strings.Contains(api.made[1], `image: "reg/app@sha256:2"`) || strings.Contains(api.made[1], "runAsUser") {
		t.Errorf("an image: %v\n%s", err, api.made[1])
	}
	if _, err := site.Start(t.Context(), []string{"./server", cmdline.AddrMark}); err == nil || !strings.Contains(err.Error(), "give an image") {
		t.Errorf("a program: %v", err)
	}
	// GOMAXPROCS is the arm's where it sets one.
	if _, err := site.Start(t.Context(), []string{"GOMAXPROCS=1", "/schedlab", "serve"}); err != nil || strings.Count(api.made[2], "GOMAXPROCS") != 1 || !strings.Contains(api.made[2], `{name: "GOMAXPROCS", value: "1"}`) {
		t.Errorf("a GOMAXPROCS of the arm's own: %v\n%s", err, api.made[2])
	}
	if c := site.Describe(); !slices.Equal(c.ServerMachines, []string{"b"}) {
		t.Errorf("servers ran on %q", c.ServerMachines)
	}
}

// TestAPIOverloaded: answers of 429 and 500 are tried again, a refusal is not, and its words are told.
func TestAPIOverloaded(t *testing.T) {
	api, site := newFakeAPI(t)
	api.refuse = []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if _, err := site.Start(t.Context(), []string{"/schedlab", "serve"}); err != nil || len(api.made) != 1 {
		t.Errorf("after 429, 500 and 503: %v, %d Pods; want one", err, len(api.made))
	}
	api.refuse = []int{http.StatusForbidden}
	before := len(api.asked)
	_, err := site.Start(t.Context(), []string{"/schedlab", "serve"})
	if err == nil || !strings.Contains(err.Error(), "the API answers 403: not now; see kubectl -n ns get resourcequota") || len(api.asked) != before+1 {
		t.Errorf("refused: %v after %d requests", err, len(api.asked)-before)
	}
}

// TestPodThatIsThereAlready: a Pod whose creation was answered by an error, and that was created all the same, is the server's. Other
// conflicts are refusals.
func TestPodThatIsThereAlready(t *testing.T) {
	for reason, want := range map[string]bool{"AlreadyExists": true, "Conflict": false} {
		api, site := newFakeAPI(t)
		api.refuse, api.reason = []int{http.StatusGatewayTimeout, http.StatusConflict}, reason
		if r, err := site.Start(t.Context(), []string{"/schedlab", "serve"}); (err == nil) != want || err == nil && r.Addr != "127.0.0.1:8080" {
			t.Errorf("%s: %v; want it to run: %v", reason, err, want)
		}
	}
}

// TestPodThatDoesNotRun: what keeps a Pod from running is told at once, with the command that shows more,
// and the Pod is deleted.
func TestPodThatDoesNotRun(t *testing.T) {
	for status, want := range map[string]string{
		`{"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ErrImagePull","message":"no such image"}}}]}`:                        "ErrImagePull: no such image; see kubectl -n ns describe pod run-server-1",
		`{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"reason":"Error","exitCode":2}}}]}`:                                          "it has ended: Error, exit code 2",
		`{"phase":"Failed","reason":"Evicted","message":"the node was low on memory"}`:                                                               "it has ended: Failed Evicted the node was low on memory",
		`{"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"CreateContainerConfigError","message":"image will run as root"}}}]}`: "CreateContainerConfigError: image will run as root",
	} {
		api, site := newFakeAPI(t)
		api.status = status
		if _, err := site.Start(t.Context(), []string{"/schedlab", "serve"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", status, err, want)
		}
		if !slices.Contains(api.asked, "DELETE /pods/run-server-1") {
			t.Errorf("the Pod stays: %q", api.asked)
		}
	}
}

// TestServerEnded: a server that ended by itself, or was deleted, fails its trial.
func TestServerEnded(t *testing.T) {
	api, site := newFakeAPI(t)
	r, err := site.Start(t.Context(), []string{"/schedlab", "serve"})
	if err != nil {
		t.Fatal(err)
	}
	api.status = `{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"reason":"OOMKilled","exitCode":137}}}]}`
	if err := r.Stop(); err == nil || !strings.Contains(err.Error(), "ended during its trial: OOMKilled, exit code 137") {
		t.Errorf("out of memory: %v", err)
	}
	api.refuse = []int{http.StatusNotFound}
	if err := r.Stop(); err == nil || !strings.Contains(err.Error(), "was deleted during its trial") {
		t.Errorf("deleted: %v", err)
	}
}

// TestShardsAreFound: the site waits for its shards, and tells what keeps them.
func TestShardsAreFound(t *testing.T) {
	_, site := newFakeAPI(t)
	if err := site.findShards(t.Context()); err != nil || len(site.shards) != 1 || site.shards[0].addr != "127.0.0.1:7070" {
		t.Errorf("%d shards, %v", len(site.shards), err)
	}
	api, site := newFakeAPI(t)
	api.status = `{"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ImagePullBackOff","message":"back-off"}}}]}`
	begun := time.Now()
	if err := site.findShards(t.Context()); err == nil || !strings.Contains(err.Error(), "shard run-load-0 does not run: ImagePullBackOff: back-off; see kubectl") || time.Since(begun) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
}

// TestRender: the objects are namespaced, labelled with the run, and nothing that a user writes breaks out
// of its place.
func TestRender(t *testing.T) {
	j := Job{Settings: Settings{
		Name: "run", Namespace: "ns", Image: "img", Pull: "Always", Shards: 3, ServerCPU: 1, ShardCPU: "500m", Rest: "auto", Token: "t",
		LoadNodes: map[string]string{"pool": "load\"}"},
	}, Request: "x: y\n- z\"<", Files: map[string]string{"mine.yaml": "name: mine\n"}, Deadline: 60}
	text, err := j.Render()
	if err != nil {
		t.Fatal(err)
	}
	docs := strings.Split(string(text), "\n---\n")
	if len(docs) != 8 {
		t.Errorf("%d objects; want 8", len(docs))
	}
	for _, d := range docs {
		if !strings.Contains(d, "namespace: ns") || !strings.Contains(d, "schedlab.dev/run: run") || strings.Contains(d, "ClusterRole") {
			t.Errorf("an object without namespace or label, or of the whole cluster:\n%s", d)
		}
	}
	for _, want := range []string{`request.json: "x: y\n- z\"\u003c"`, `"pool": "load\"}"`, `"mine.yaml": "name: mine\n"`, "completions: 3", `cpu: "500m"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the objects lack %s:\n%s", want, text)
		}
	}
}

// TestSend: a file is sent along, under a name that a Secret can have and that is not taken.
func TestSend(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	for name, text := range map[string]string{"mine.yaml": "a", "my file.txt": "b", "token": "c", "large": strings.Repeat("x", mostSent+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var j Job
	for _, c := range [][2]string{
		{filepath.Join(dir, "mine.yaml"), "/etc/schedlab/mine.yaml"}, {filepath.Join(dir, "my file.txt"), "/etc/schedlab/file-1.txt"},
		{filepath.Join(dir, "token"), "/etc/schedlab/file-2"}, {"quick", "quick"},
	} {
		if got, err := j.Send(c[0]); err != nil || got != c[1] {
			t.Errorf("%s: %s, %v, want %s", c[0], got, err, c[1])
		}
	}
	if j.Files["mine.yaml"] != "a" || j.Files["file-1.txt"] != "b" || j.Files["file-2"] != "c" || len(j.Files) != 3 {
		t.Errorf("%q", j.Files)
	}
	if _, err := j.Send(large); err == nil || !strings.Contains(err.Error(), "900 KiB together") {
		t.Errorf("a large file: %v", err)
	}
}

// TestOtherVersion: a collector that does not take its own command line is of another version, and only that.
func TestOtherVersion(t *testing.T) {
	for status, want := range map[string]bool{
		`{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"reason":"Error","exitCode":2}}}]}`: true,
		`{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"reason":"Error","exitCode":1}}}]}`: false,
		`{"phase":"Running","containerStatuses":[{"state":{"running":{}}}]}`:                                false,
	} {
		var p pod
		if err := json.Unmarshal([]byte(status), &p.Status); err != nil {
			t.Fatal(err)
		}
		if got := p.otherVersion(); strings.Contains(got, "take the same version for both") != want {
			t.Errorf("%s: %q", status, got)
		}
	}
}
