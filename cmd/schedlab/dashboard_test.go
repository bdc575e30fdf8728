package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"schedlab/internal/serving/model"
)

// readDashboard returns the dashboard in deploy: its variables' and its panels' queries.
func readDashboard(t *testing.T) (variables, queries []string) {
	t.Helper()
	var dashboard struct {
		Templating struct {
			List []struct {
				Type  string
				Query any
			}
		}
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr string }
		}
	}
	text := read(t, filepath.Join(moduleRoot(t), "deploy", "grafana", "dashboards", "overview.json"))
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, v := range dashboard.Templating.List {
		if query, ok := v.Query.(string); ok && v.Type == "query" {
			variables = append(variables, query)
		}
	}
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q asks nothing", p.Title)
		}
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return variables, queries
}

var (
	labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	unset       = regexp.MustCompile(`\$\w+`)
)

// answersDashboard asks what Grafana would: every query of the dashboard, for all servers, has values,
// and all are numbers. Only a query of a native histogram needs the Prometheus that keeps them.
func answersDashboard(t *testing.T, classic, native *prometheus) {
	t.Helper()
	variables, queries := readDashboard(t)
	if len(variables) < 2 || len(queries) < 30 {
		t.Fatalf("the dashboard has %d variables and %d queries, want some of each", len(variables), len(queries))
	}
	asked := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$mode", ".*")
	for _, v := range variables {
		m := labelValues.FindStringSubmatch(v)
		if m == nil {
			t.Errorf("the variable's query %q is no label_values(metric, label)", v)
			continue
		}
		queries = append(queries, "count by ("+m[2]+") ("+m[1]+")")
	}
	natives := 0
	for _, query := range queries {
		prom := classic
		if strings.HasPrefix(query, "histogram_quantile") && !strings.Contains(query, "_bucket") {
			prom = native
			natives++
		}
		promQL := asked.Replace(query)
		if name := unset.FindString(promQL); name != "" {
			t.Errorf("%s has the variable %s, which this test does not set", query, name)
		}
		values, text := prom.values(t, promQL)
		if len(values) == 0 {
			t.Errorf("%s = %s, want values", promQL, text)
		}
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s = %s, want numbers", promQL, text)
				break
			}
		}
	}
	if natives == 0 {
		t.Error("no query is of a native histogram")
	}
}

// The compose file mounts what there is, pins what it pulls, and Grafana finds Prometheus and the dashboard.
func TestComposeFileIsWhole(t *testing.T) {
	t.Parallel()
	deploy := filepath.Join(moduleRoot(t), "deploy")
	var compose struct {
		Services map[string]struct {
			Image   string
			Build   struct{ Target string }
			Command []string
			Volumes []string
		}
		Volumes map[string]any
	}
	decode(t, filepath.Join(deploy, "compose.yaml"), &compose)
	pinned := regexp.MustCompile(`^[a-z/]+:v?[0-9]+\.[0-9]+\.[0-9]+$`)
	stages := read(t, filepath.Join(deploy, "Dockerfile"))
	mounted := map[string]string{}
	for name, s := range compose.Services {
		if s.Image != "" && !pinned.MatchString(s.Image) {
			t.Errorf("%s: the image %q has no version", name, s.Image)
		}
		if s.Build.Target != "" && !strings.Contains(stages, " AS "+s.Build.Target+"\n") {
			t.Errorf("%s: the Dockerfile has no stage %q", name, s.Build.Target)
		}
		for _, v := range s.Volumes {
			from, to, _ := strings.Cut(v, ":")
			to, _, _ = strings.Cut(to, ":")
			if _, named := compose.Volumes[from]; named {
				continue
			}
			mounted[to] = filepath.Join(deploy, from)
			if _, err := os.Stat(mounted[to]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	// The Prometheus that keeps native histograms is the one that is tested (make test-prometheus).
	module := regexp.MustCompile(`prometheus/prometheus v0\.(\d)(\d+)\.(\d+)`).FindStringSubmatch(read(t, filepath.Join(deploy, "..", "tools", "prometheus", "go.mod")))
	if module == nil {
		t.Fatal("tools/prometheus/go.mod requires no github.com/prometheus/prometheus v0.XYY.Z, which is Prometheus X.YY.Z")
	}
	minor, _ := strconv.Atoi(module[2])
	if want := fmt.Sprintf("prom/prometheus:v%s.%d.%s", module[1], minor, module[3]); compose.Services["prometheus"].Image != want {
		t.Errorf("compose pulls %s, want %s, as tools/prometheus/go.mod has it", compose.Services["prometheus"].Image, want)
	}
	if command := strings.Join(compose.Services["prometheus"].Command, " "); !strings.Contains(command, "/native.yml") || strings.Contains(command, "--enable-feature") {
		t.Errorf("compose starts Prometheus with %q, want native.yml, and no flag that does nothing", command)
	}
	var sources struct{ Datasources []struct{ URL string } }
	decode(t, filepath.Join(mounted["/etc/grafana/provisioning"], "datasources", "prometheus.yml"), &sources)
	_, port, _ := strings.Cut(sources.Datasources[0].URL, "server")
	if listens := "--web.listen-address=" + port; !strings.Contains(strings.Join(compose.Services["prometheus"].Command, "\n")+"\n", listens+"\n") {
		t.Errorf("Grafana asks %s, and Prometheus has no %s", sources.Datasources[0].URL, listens)
	}
	var providers struct {
		Providers []struct{ Options struct{ Path string } }
	}
	decode(t, filepath.Join(mounted["/etc/grafana/provisioning"], "dashboards", "schedlab.yml"), &providers)
	if dir := mounted[providers.Providers[0].Options.Path]; dir == "" {
		t.Errorf("Grafana reads dashboards from %s, where nothing is mounted", providers.Providers[0].Options.Path)
	} else if _, err := os.Stat(filepath.Join(dir, "overview.json")); err != nil {
		t.Error(err)
	}
	for _, arg := range compose.Services["load"].Command {
		if file, ok := strings.CutPrefix(arg, "-targets="); ok {
			if _, err := os.Stat(filepath.Join(deploy, "..", "loadtests", file)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestKustomizations: each overlay of deploy/k8s sets a mode that there is, and the base gives a server
// flags that it takes. tools/cluster/test applies one to a real cluster.
func TestKustomizations(t *testing.T) {
	t.Parallel()
	k8s := filepath.Join(moduleRoot(t), "deploy", "k8s")
	type variable struct{ Name, Value string }
	var server struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Args      []string
						Env       []variable
						Resources struct{ Limits struct{ CPU string } }
					}
				}
			}
		}
	}
	decode(t, filepath.Join(k8s, "base", "serve.yaml"), &server)
	// Go makes at least two Ps, also in a quota of one CPU.
	pod := server.Spec.Template.Spec.Containers[0]
	if procs := slices.IndexFunc(pod.Env, func(v variable) bool { return v.Name == "GOMAXPROCS" }); procs < 0 || pod.Env[procs].Value != pod.Resources.Limits.CPU {
		t.Errorf("the variables are %+v, want GOMAXPROCS equal to the limit of %q CPUs", pod.Env, pod.Resources.Limits.CPU)
	}
	args := pod.Args
	overlays, err := filepath.Glob(filepath.Join(k8s, "overlays", "*", "kustomization.yaml"))
	if err != nil || len(overlays) < 3 {
		t.Fatalf("overlays %q: %v", overlays, err)
	}
	for _, file := range overlays {
		var overlay struct {
			Resources []string
			Labels    []struct{ Pairs map[string]string }
			Patches   []struct{ Patch string }
		}
		decode(t, file, &overlay)
		mode := overlay.Labels[0].Pairs["schedlab.dev/mode"]
		words := []string{}
		for _, a := range args {
			words = append(words, strings.ReplaceAll(a, "$(MODE)", mode))
		}
		serve, flags, err := newRoot(io.Discard, io.Discard).Find(words)
		if err == nil {
			err = serve.ParseFlags(flags)
		}
		if _, unknown := model.Lookup(mode); err != nil || unknown != nil {
			t.Errorf("%s: %q: %v", file, words, err)
		}
		for _, r := range overlay.Resources {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), r, "kustomization.yaml")); err != nil {
				t.Error(err)
			}
		}
		if len(overlay.Patches) > 0 && !strings.Contains(overlay.Patches[0].Patch, "value: "+mode+"}") {
			t.Errorf("%s is named %s and patches %s", file, mode, overlay.Patches[0].Patch)
		}
	}
}

// decode reads a YAML file.
func decode(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, file)), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
