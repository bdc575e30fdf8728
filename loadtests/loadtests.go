// Package loadtests embeds the scenarios, so that the binary has them wherever
// it runs. The vegeta target files beside them are for the vegeta command line.
package loadtests

import "embed"

// Scenarios holds every scenario file, NAME.yaml.
//
//go:embed *.yaml
var Scenarios embed.FS
