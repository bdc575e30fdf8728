// Package cluster runs a comparison on Kubernetes. The comparison is the one of package experiment: it
// runs in a Pod, the collector, which starts each server as a Pod of its own and has the load sent
// by other Pods, the shards.
//
//	kubectl create     the manifests (manifest.go) are given to the cluster
//	shard              a Pod that sends its part of each load (shard.go)
//	collector          the measuring command, with a Site (site.go) instead of this machine
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
	"strings"
)

// Settings are what a run in a cluster needs to know, apart from its command.
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

// Where the collector's Pod finds the settings and the files that were sent along.
const (
	settingsDir  = "/etc/schedlab"
	SettingsFile = settingsDir + "/cluster.json"
)

// ShardAddr is where a shard serves, on every address of its Pod.
const ShardAddr = ":7070"

// mostSent is the most bytes that all files together may have: they are in a Secret, which may have a
// MiB.
const mostSent = 900 << 10

// Send adds a word to the run's command. If it is the name of a file here, or a flag with one, the file
// is sent along and the word names it as the Pod has it.
func (j *Job) Send(word string) error {
	flag, name := "", word
	if strings.HasPrefix(word, "--") {
		if before, after, ok := strings.Cut(word, "="); ok {
			flag, name = before+"=", after
		}
	}
	about, err := os.Stat(name)
	if ext := filepath.Ext(name); err != nil && (ext == ".yaml" || ext == ".yml") {
		return err // a scenario that is not here is not in the Pod either
	}
	if err != nil || !about.Mode().IsRegular() {
		j.Command = append(j.Command, word)
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	sent := len(text)
	for _, other := range j.Files {
		sent += len(other)
	}
	if sent > mostSent {
		return fmt.Errorf("%s: the files of a run may have %d KiB together, and these have %d; make an image with the file in it", name, mostSent>>10, sent>>10)
	}
	key := filepath.Base(name)
	if _, taken := j.Files[key]; taken || strings.ContainsFunc(key, func(r rune) bool { return !strings.ContainsRune(keyRunes, r) }) {
		key = fmt.Sprintf("file-%d%s", len(j.Files), filepath.Ext(key))
	}
	j.Files[key] = string(text)
	j.Command = append(j.Command, flag+settingsDir+"/"+key)
	return nil
}

// keyRunes may stand in a key of a Secret.
const keyRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
