package cluster

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"text/template"
	"time"

	"schedlab/internal/measuring/host"
)

// The objects of a run, and the Pod of a server.
//
//go:embed manifest.yaml
var manifests string

// Every object of a run has the label schedlab.dev/run with its name, by which clean finds it.
const runLabel, partLabel = "schedlab.dev/run", "schedlab.dev/part"

// partLabels selects the objects of a run that are one part of it: load, collector or server.
func partLabels(run, part string) string { return runLabel + "=" + run + "," + partLabel + "=" + part }

// A Job is a run as it is given to the cluster.
type Job struct {
	Settings
	Request  string            // to carry out, as JSON, with files below /etc/schedlab
	Files    map[string]string // the texts of these files
	Deadline int               // seconds after which the cluster ends everything
}

// keepFor is how long a run that has ended waits to be fetched.
const keepFor = 30 * time.Minute

// Render returns the run's objects as YAML.
func (j Job) Render() ([]byte, error) { return render("objects", j) }

// A serverPod is the Pod of a server.
type serverPod struct {
	Settings
	Pod, Image string
	Foreign    bool // the image is not schedlab's
	Args       []string
	Env        [][2]string
}

// OwnerName returns the name of the collector's Pod. The server's Pod belongs to it, so the cluster
// removes the server when the collector is gone.
func (p serverPod) OwnerName() string { return os.Getenv("POD_NAME") }

// SetsProcs reports whether the server's command sets GOMAXPROCS itself.
func (p serverPod) SetsProcs() bool {
	return slices.ContainsFunc(p.Env, func(v [2]string) bool { return v[0] == host.MaxProcs })
}

// objects are the templates of manifest.yaml. They write text from users as JSON, which YAML contains.
var objects = template.Must(template.New("").Option("missingkey=error").Funcs(template.FuncMap{
	"json": func(v any) (string, error) {
		text, err := json.Marshal(v)
		return string(text), err
	},
	"labels": func(s Settings, part string) string {
		return fmt.Sprintf("{app.kubernetes.io/name: schedlab, app.kubernetes.io/managed-by: schedlab, %s: %s, %s: %s}", runLabel, s.Name, partLabel, part)
	},
}).Parse(manifests))

// render returns the YAML of a template: objects of a Job, or server of a serverPod.
func render(name string, data any) ([]byte, error) {
	var text bytes.Buffer
	err := objects.ExecuteTemplate(&text, name, data)
	return text.Bytes(), err
}
