package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"schedlab/internal/serving/model"
)

// TestPrometheusScrapes lets a real Prometheus with the shipped configuration
// scrape two servers, one of which turns connections away, and asks it.
func TestPrometheusScrapes(t *testing.T) {
	t.Parallel()
	servers := map[string]*child{
		"nethttp": serve(t, "nethttp"),
		"pool":    serve(t, "pool", "--workers", "1", "--queue-depth", "1", "--overflow", "reject"),
	}
	prom := startPrometheus(t, servers, "prometheus.yml")
	var native *prometheus
	if keepsNative(t, "prometheus") {
		native = startPrometheus(t, servers, "native.yml")
	} else { // Debian's has a flag for it
		native = startPrometheus(t, servers, "prometheus.yml", "--enable-feature=native-histograms")
	}
	answered := map[string]int{}
	for mode, s := range servers {
		prom.eventually(t, fmt.Sprintf(`count(up{job="schedlab", instance=%q} == 1)`, s.admin), func(v float64) bool { return v == 1 })
		churn(t, s, answered, mode)
	}
	for mode, s := range servers {
		of := fmt.Sprintf("{mode=%q}", mode)
		// Traffic goes on until both see a rate over two scrapes, and have recorded it.
		for _, p := range []*prometheus{prom, native} {
			for _, rate := range []string{`sum(rate(schedlab_requests_total{code="200", mode="` + mode + `"}[30s]))`, "instance_mode:schedlab_request_duration_seconds:p99_rate1m" + of} {
				p.eventually(t, rate, func(v float64) bool {
					churn(t, s, answered, mode)
					return v > 0
				})
			}
		}
		prom.eventually(t, `histogram_quantile(0.99, sum by (le) (rate(schedlab_request_duration_seconds_bucket`+of+`[1m])))`,
			func(v float64) bool { return v > 0 && v <= 10 })
		prom.eventually(t, "instance_mode:schedlab_requests:rate1m"+of, func(v float64) bool { return v > 0 })
		prom.eventually(t, `sum(schedlab_requests_total{code="200", mode="`+mode+`"})`, func(v float64) bool { return v == float64(answered[mode]) })
		prom.eventually(t, "schedlab_connections_open"+of, func(v float64) bool { return v == 0 })
		prom.eventually(t, "schedlab_connections_done_total"+of, func(v float64) bool { return v >= float64(answered[mode]) })
		prom.eventually(t, "schedlab_connections_accepted_total"+of, func(v float64) bool { return v >= float64(answered[mode]) })
	}
	prom.eventually(t, `sum(schedlab_connections_rejected_total{mode="pool"})`, func(v float64) bool { return v > 0 })

	const identity = `schedlab_connections_accepted_total == bool schedlab_connections_done_total
		+ sum without (reason) (schedlab_connections_rejected_total)
		+ sum without (reason) (schedlab_connections_dropped_total)
		+ schedlab_connections_open`
	for _, query := range []string{
		"count(" + identity + ")",
		"sum(" + identity + ")",
		"count(min_over_time((" + identity + ")[2m:200ms]) == 1)", // in every scrape, the middle of the churn included
	} {
		if v, text := prom.query(t, query); v != float64(len(servers)) {
			t.Errorf("%s = %s, want %d servers", query, text, len(servers))
		}
	}
	if _, text := prom.query(t, `ALERTS{alertname="SchedlabCountsDisagree"}`); text != "[]" {
		t.Errorf("SchedlabCountsDisagree fires: %s", text)
	}
	answersDashboard(t, prom, native)

	for mode := range servers {
		prom.eventually(t, fmt.Sprintf("count(instance_mode:schedlab_sched_latency_seconds:above10ms_rate1m{mode=%q} <= 1)", mode), func(v float64) bool { return v == 1 })
	}
	native.eventually(t, `count(histogram_count(schedlab_request_duration_seconds{route="/plaintext"}) > 0)`, func(v float64) bool { return v == float64(len(servers)) })
	// A scrape does not find its own goroutines waiting to run, and both servers are idle now.
	prom.eventually(t, `count(quantile_over_time(0.5, schedlab_goroutines{state="runnable"}[5s]) == 0)`, func(v float64) bool { return v == float64(len(servers)) })
}

// keepsNative reports whether a program of Prometheus' knows native.yml, which takes 3.8 or newer.
func keepsNative(t *testing.T, program string) bool {
	t.Helper()
	about, err := exec.Command(need(t, program), "--version").CombinedOutput()
	var major, minor int
	if m := prometheusVersion.FindSubmatch(about); m != nil {
		major, _ = strconv.Atoi(string(m[1]))
		minor, _ = strconv.Atoi(string(m[2]))
	}
	if err != nil || major < 2 {
		t.Fatalf("%s --version: %v\n%s", program, err, about)
	}
	return major > 3 || major == 3 && minor >= 8
}

var prometheusVersion = regexp.MustCompile(`version (\d+)\.(\d+)\.`)

// churn asks on connections of their own, several at a time, and adds the
// answers with status 200 to the mode's.
func churn(t *testing.T, s *child, answered map[string]int, mode string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: childLimit}
	var mu sync.Mutex
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for _, path := range []string{"/plaintext", "/work?sleep=20ms"} {
				reply, err := client.Get("http://" + s.addr + path)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, reply.Body)
				reply.Body.Close()
				mu.Lock()
				switch reply.StatusCode {
				case http.StatusOK:
					answered[mode]++
				case http.StatusServiceUnavailable:
				default:
					t.Errorf("%s%s: %s", mode, path, reply.Status)
				}
				mu.Unlock()
			}
		})
	}
	callers.Wait()
}

// A prometheus is a running server of that name.
type prometheus struct{ addr string }

// Newer ones write component=web before the address.
var prometheusListens = regexp.MustCompile(`msg="Listening on" .*\baddress=(\S+)`)

// startPrometheus runs it on a configuration of deploy's, its target and its
// interval replaced.
func startPrometheus(t *testing.T, servers map[string]*child, file string, flags ...string) *prometheus {
	t.Helper()
	program := need(t, "prometheus")
	deploy := filepath.Join(moduleRoot(t), "deploy", "prometheus")
	var targets []string
	for _, s := range servers {
		targets = append(targets, strconv.Quote(s.admin))
	}
	config := read(t, filepath.Join(deploy, file))
	for old, replacement := range map[string]string{
		`["127.0.0.1:9090"]`: "[" + strings.Join(targets, ", ") + "]",
		": 5s\n":             ": 500ms\n",
	} {
		if !strings.Contains(config, old) {
			t.Fatalf("%s has no %q", file, old)
		}
		config = strings.ReplaceAll(config, old, replacement)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("prometheus.yml", config)
	write("rules.yml", read(t, filepath.Join(deploy, "rules.yml")))
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, append(flags, "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	p := &prometheus{}
	eventually(t, "prometheus' address", func() (bool, string) {
		text := read(t, log.Name())
		if m := prometheusListens.FindStringSubmatch(text); m != nil {
			p.addr = m[1]
		}
		return p.addr != "", text
	})
	return p
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// query returns the one value of an instant query, 0 when there is none, and
// the result as Prometheus wrote it.
func (p *prometheus) query(t *testing.T, promQL string) (float64, string) {
	t.Helper()
	values, text := p.values(t, promQL)
	if len(values) != 1 {
		return 0, text
	}
	return values[0], text
}

// values returns the values of an instant query, and the result as Prometheus wrote it.
func (p *prometheus) values(t *testing.T, promQL string) (values []float64, text string) {
	t.Helper()
	reply, err := http.Get("http://" + p.addr + "/api/v1/query?query=" + url.QueryEscape(promQL))
	if err != nil {
		return nil, err.Error() // not up yet
	}
	defer reply.Body.Close()
	var body struct {
		Status, Error string
		Data          struct{ Result json.RawMessage }
	}
	if err := json.NewDecoder(reply.Body).Decode(&body); err != nil || body.Status != "success" {
		return nil, fmt.Sprintf("%s %s (%v)", reply.Status, body.Error, err)
	}
	var series []struct{ Value [2]any }
	if err := json.Unmarshal(body.Data.Result, &series); err != nil {
		return nil, string(body.Data.Result)
	}
	for _, one := range series {
		text, _ := one.Value[1].(string) // a histogram has none, and is no number
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s = %s: %v", promQL, body.Data.Result, err)
		}
		values = append(values, v)
	}
	return values, string(body.Data.Result)
}

func (p *prometheus) eventually(t *testing.T, promQL string, right func(float64) bool) {
	t.Helper()
	eventually(t, promQL, func() (bool, string) {
		v, text := p.query(t, promQL)
		return right(v), text
	})
}

// TestPromtool holds the shipped configuration, its rules with their unit
// tests, and every mode's metrics against promtool.
func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool := need(t, "promtool")
	deploy := filepath.Join(moduleRoot(t), "deploy", "prometheus")
	output(t, exec.Command(promtool, "check", "config", filepath.Join(deploy, "prometheus.yml")))
	output(t, exec.Command(promtool, "check", "rules", filepath.Join(deploy, "rules.yml")))
	output(t, exec.Command(promtool, "test", "rules", filepath.Join(deploy, "rules_test.yml")))
	if keepsNative(t, "promtool") {
		output(t, exec.Command(promtool, "check", "config", filepath.Join(deploy, "native.yml")))
		output(t, exec.Command(promtool, "test", "rules", filepath.Join(deploy, "native_test.yml")))
	}
	// Debian's promtool does not know the two keys by which native.yml differs.
	const key = "    scrape_native_histograms: true\n    always_scrape_classic_histograms: true # dashboards and rules ask for some of them\n"
	native := read(t, filepath.Join(deploy, "native.yml"))
	_, native, _ = strings.Cut(native, "global:")
	_, plain, _ := strings.Cut(read(t, filepath.Join(deploy, "prometheus.yml")), "global:")
	if strings.Replace(native, key, "", 1) != plain || native == plain {
		t.Errorf("native.yml is not prometheus.yml with the lines %q", key)
	}
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, mode.Name)
			check := exec.Command(promtool, "check", "metrics")
			check.Stdin = strings.NewReader(s.metrics(t))
			if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("promtool check metrics: %v\n%s", err, out)
			}
		})
	}
}
