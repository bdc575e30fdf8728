package cluster

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"text/template"
	"time"
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
	Command  []string          // of schedlab, like compare quick, with files below /etc/schedlab
	Files    map[string]string // the texts of these files
	Deadline int               // seconds after which the cluster ends everything
}

// KeepFor is how long a run that has ended waits to be fetched.
const KeepFor = 30 * time.Minute

// Render returns the run's objects as YAML.
func (j Job) Render() ([]byte, error) { return render("objects", j) }

// JSON returns the settings as a Pod reads them.
func (j Job) JSON() (string, error) {
	text, err := json.Marshal(j.Settings)
	return string(text), err
}

// A serverPod is the Pod of a server.
type serverPod struct {
	Settings
	Pod, Image string
	Foreign    bool // the image is not schedlab's
	Args       []string
	Env        [][2]string
}

// yaml returns the Pod as YAML.
func (p serverPod) yaml() ([]byte, error) { return render("server", p) }

// OwnerName returns the name of the collector's Pod. The server's Pod belongs to it, so the cluster
// removes the server when the collector is gone.
func (p serverPod) OwnerName() string { return os.Getenv("POD_NAME") }

// render executes a template. Text from users is quoted as JSON, which YAML contains.
func render(name string, data any) ([]byte, error) {
	t, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"quote": func(s string) (string, error) {
			text, err := json.Marshal(s)
			return string(text), err
		},
		"labels": func(s Settings, part string) string {
			return fmt.Sprintf("{app.kubernetes.io/name: schedlab, app.kubernetes.io/managed-by: schedlab, %s: %s, %s: %s}", runLabel, s.Name, partLabel, part)
		},
	}).Parse(manifests)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := t.ExecuteTemplate(&text, name, data); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}
