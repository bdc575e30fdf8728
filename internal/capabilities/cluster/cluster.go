// Package cluster runs a comparison on Kubernetes. The comparison is the one of package runner: it
// runs in a Pod, the collector. The collector starts a separate Pod for each server, and other Pods,
// the shards, send the load.
//
//	kubectl create     the manifests (manifest.go) are given to the cluster
//	shard              a Pod that sends its part of each load (shard.go)
//	collector          carries out a request, with a Site (site.go) instead of this machine
//	parts, merge       a load is dealt out and its results are put together again (split.go)
//	kubectl exec       fetches the record (kubectl.go)
//
// A load's requests are dealt out by their place in the schedule, so the parts together are exactly
// the schedule that one machine would send. Each part comes back request by request, so merged quantiles
// come from all requests, and are no mean of quantiles.
package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Settings are what a run in a cluster needs to know, apart from its request.
type Settings struct {
	Name      string `json:"name"` // of the run; a prefix of its objects' names
	Namespace string `json:"namespace"`
	Image     string `json:"image"` // of schedlab, best by digest
	Pull      string `json:"pull"`  // imagePullPolicy
	// PullSecret is the name of the Secret with which images are pulled; "" for none.
	PullSecret string `json:"pull_secret,omitempty"`
	Shards     int    `json:"shards"`
	ServerCPU  int    `json:"server_cpu"` // CPUs of a server
	ShardCPU   string `json:"shard_cpu"`  // CPUs of a shard, as Kubernetes writes them: 1 or 500m
	// ServerNodes and LoadNodes are the labels of the nodes for servers and for the load. Taints with the
	// same key and value are tolerated.
	ServerNodes map[string]string `json:"server_nodes,omitempty"`
	LoadNodes   map[string]string `json:"load_nodes,omitempty"`
	Rest        string            `json:"rest"`  // whether shards spin or wait between requests
	Token       string            `json:"token"` // without it a shard does nothing
	Owner       string            `json:"-"`     // uid of the collector's Pod
}

// Ports in Pods.
const (
	dataPort  = 8080
	adminPort = 9090
)

// Where the collector's Pod finds the settings, and where it keeps records, below its working directory. The request and
// the files that were sent along are in the directory of the settings.
const (
	settingsDir  = "/etc/schedlab"
	SettingsFile = settingsDir + "/cluster.json"
	RunsDir      = "runs"
)

// ShardAddr is where a shard serves, on every address of its Pod.
const ShardAddr = ":7070"

// mostSent is the most bytes that all files together may have: they are in a Secret, which may have a
// MiB.
const mostSent = 900 << 10

// Send sends a file along, and returns its name in the Pod. It returns a name without a file here unchanged: the image may
// have that file.
func (j *Job) Send(name string) (string, error) {
	about, err := os.Stat(name)
	if ext := filepath.Ext(name); err != nil && (ext == ".yaml" || ext == ".yml") {
		return "", err // a scenario that is not here is not in the Pod either
	}
	if err != nil || !about.Mode().IsRegular() {
		return name, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	sent := len(text)
	for _, other := range j.Files {
		sent += len(other)
	}
	if sent > mostSent {
		return "", fmt.Errorf("%s: the files of a run may have %d KiB together, and these have %d; make an image with the file in it", name, mostSent>>10, sent>>10)
	}
	key := filepath.Base(name)
	_, taken := j.Files[key]
	if taken || slices.Contains(ownKeys, key) || strings.ContainsFunc(key, func(r rune) bool { return !strings.ContainsRune(keyRunes, r) }) {
		key = fmt.Sprintf("file-%d%s", len(j.Files), filepath.Ext(key))
	}
	if j.Files == nil {
		j.Files = map[string]string{}
	}
	j.Files[key] = string(text)
	return settingsDir + "/" + key, nil
}

// ownKeys are the keys of the Secret that are no file of the user.
var ownKeys = []string{"cluster.json", "request.json", "token"}

// keyRunes may stand in a key of a Secret.
const keyRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
