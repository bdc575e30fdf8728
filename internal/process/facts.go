package process

import "schedlab/internal/record"

// Doubts about a server, the load or the machine.
var (
	noListenerFound = record.Sentence("no-listener-found", `CPU time, memory and CPUs are not known: no process that listens on {{.Names.addr}} can be found (it is another user's, in another network namespace, or on another machine)`)
	otherCPUs       = record.Sentence("other-cpus", `may run on {{.Names.cpus}}, not on the servers' {{.Names.servers}} alone: it {{if .Names.attached}}was not started here{{else}}set its own affinity{{end}}`+
		`{{with .Names.shared}}; it shares {{.}} with the load, and they disturb each other{{end}}`)
)
