package report

import "schedlab/internal/record"

// checks say of each check of a machine what it would find spoiled, and how the check
// reads where the machine does not tell.
var checks = map[string]struct{ spoils, untold string }{
	"cpus":           {"the load takes CPU time from the server that it measures, and late requests look like slow replies", "the CPUs that this process may use are not told here"},
	"siblings":       {"two hardware threads of one core slow each other down: the load is in the server's times", "which CPUs share a core is not told here"},
	"cpu limit":      {"a process beyond its cgroup's share stands still until the next period, 100 ms as a rule", "cgroups are not told of here"},
	"governor":       {"a clock rate that follows the load makes light load slow and early windows unlike late ones", "not told here, as in most virtual machines: the host decides the clock rate"},
	"other programs": {"they take CPU time from server and load: intervals get wider, and what they alone made different is refused", "the CPU time of other programs is not told here"},
	"steal":          {"the hypervisor gives the CPUs to others: times grow and no counter of the server tells", "steal is not told here"},
	"pressure":       {"tasks waited for a CPU or for memory in the last ten seconds; a measurement would have waited as well", "pressure is not told here (a kernel of 4.20 or later with psi=1 does)"},
	"memory":         {"a server that is short of memory is reclaimed from, or ended, amid a window", "the memory available is not told here"},
	"swap":           {"a page that has to come back from disk takes milliseconds of somebody's request", "swap is not told here"},
	"descriptors":    {"connections past the limit fail, in the generator as in the server", ""},
	"ports":          {"with a connection for each request, a window ends when the local ports are used up", "the range of local ports is not told here"},
	"backlog":        {"connections beyond it are dropped by the kernel and tried again a second later", "net.core.somaxconn is not told here"},
	"output":         {"a record that cannot be written ends the run", ""},
	"environment":    {"these settings reach every server that is compared, and shape its figures", ""},
	"clock source":   {"a clock that is slow to read is in every stamp and in the generator's time", "not told here"},
	"clock steps":    {"times of day in records and of other programs jump; this program's durations are monotonic and do not", ""},
	"timer":          {"a load that sleeps (--rest wait, --engine vegeta, a CPU shared with the server) sends late by as much", ""},
	"pause":          {"a pause is in the times of whatever runs then, so blocks differ more and intervals get wider", "threads cannot be bound to CPUs here, so pauses are not measured"},
	"null server":    {"a gap that even an idle server has is in some arm's tail, so blocks differ more and intervals get wider", ""},
	"engine":         {"its own time is in every response time, and hides differences smaller than itself", ""},
	"noise":          {"differences below it cannot be told from chance", ""},
}

// Spoils says what a finding of the check would spoil.
func Spoils(check string) string { return checks[check].spoils }

// Fix is what to do about a finding that is not fit: a command, or a sentence.
func Fix(f record.Fact) string { return fill(f, " fix") }

// findings has for each code what was found of a machine: the gist, which has the
// figure that matters, the rest of it, and what to do about it.
var findings = map[record.Code]struct{ gist, rest, fix string }{
	record.NotTold:          {`{{with .Names.error}}{{.}}{{else}}{{untold .Names.check}}{{end}}`, ``, ``},
	record.CPUsApart:        {`server {{.Names.server}}`, `, load {{.Names.load}}{{if eq .Values.server 1.0}}: one for the server, whose GOMAXPROCS is 1{{end}}`, ``},
	record.CPUsOne:          {`one CPU only ({{.Names.used}})`, `: server and load share it`, `{{if gt .Values.online 1.0}}{{n .Values.online}} CPUs are online: taskset -c {{.Names.online}} schedlab ..., or a wider --cpuset-cpus of the container{{else}}use a machine with two CPUs or more{{end}}`},
	record.CPUsShared:       {`server and load share CPUs`, `: server {{.Names.server}}, load {{.Names.load}}`, `give them CPUs of their own: --server-cpus {{.Names.first}} --load-cpus {{.Names.second}}`},
	record.CPUsPartlyShared: {`the load shares CPU {{.Names.shared}} with the servers`, `: server {{.Names.server}}, load {{.Names.load}}`, `a question for GOMAXPROCS 2 on two CPUs needs it; otherwise leave --server-cpus out`},
	record.CPUsUnpinned:     {`server and load are not pinned and share CPUs {{.Names.used}}`, ``, `--pin auto, on Linux`},
	record.CoresApart:       {`server and load share {{if .Values.shared}}whole CPUs, of which the check of CPUs tells{{else}}no core{{end}}`, ``, ``},
	record.CoreShared:       {`CPU {{.Names.server}} of the server and {{.Names.load}} of the load are threads of one core`, ``, `{{if .Names.first}}give each whole cores: --server-cpus {{.Names.first}} --load-cpus {{.Names.second}}{{else}}it is the only core: use a machine with two, or turn hardware threads off (echo off > /sys/devices/system/cpu/smt/control){{end}}`},
	record.CPULimit:         {`{{if .Names.file}}{{printf "%.2f" .Values.limit}} CPUs ({{.Names.file}}){{else}}none{{end}}`, `{{if .Names.file}}, for {{n .Values.used}} in use{{end}}`, `run without the limit: docker run without --cpus, no cpu limit in the pod, or echo max > /{{.Names.file}}`},
	record.ClockRate:        {`{{template "first" .}}`, `{{template "others" .}}`, `as root: {{with .Names.turbo}}echo {{$.Names.off}} > /{{.}}{{if $.Values.governors}}; {{end}}{{end}}{{if .Values.governors}}for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance > $f; done{{end}}`},
	record.OthersNow:        {`{{template "first" .}}`, `{{template "others" .}}{{if .Because}}, {{end}}over {{round .Values.watched .01}}`, `{{with .Names.pids}}let them end, or hold them meanwhile: kill -STOP {{.}}, and afterwards kill -CONT {{.}}{{else}}look for them on the host (top), and let them end or keep them off these CPUs (taskset, --cpuset-cpus){{end}}`},
	record.StealNow:         {`{{one .Values.share}} of the CPUs' time over {{round .Values.watched .01}}`, ``, `use a machine with CPUs of its own (a dedicated instance), or another hour`},
	record.Pressure:         {`some task waited for a CPU in {{one .Values.cpu}} and for memory in {{one .Values.memory}} of the time`, ``, `{{if .Values.short_of_memory}}{{template "free memory"}}{{else}}let other programs end (see the check of other programs) and ask again after ten seconds{{end}}`},
	record.MemoryFree:       {`{{mib .Values.free}} MiB available`, ``, `{{template "free memory"}}, or use a larger machine`},
	record.SwapUsed:         {`{{mib .Values.used}} of {{mib .Values.total}} MiB in use`, ``, `as root: swapoff -a && swapon -a, which brings all pages back; it needs that much free memory`},
	record.Descriptors:      {`{{n .Values.soft}} descriptors`, `, hard limit {{n .Values.hard}}: {{n .Values.connections}} connections in each process`, `{{if lt .Values.hard 65536.0}}as root: prlimit --nofile=65536:65536 --pid $$ in the shell that starts schedlab; for good: nofile in /etc/security/limits.conf, or LimitNOFILE= of the service{{else}}ulimit -n 65536 in the shell that starts schedlab{{end}}`},
	record.LocalPorts:       {`{{n .Values.ports}} local ports`, `, so as many connections a window, {{n .Values.rate}}/s in a quick one{{with .Values.waiting}}; {{n .}} sockets in TIME_WAIT, in the way of load on the same server only{{end}}`, `sysctl -w net.ipv4.ip_local_port_range='1024 65535'`},
	record.ListenBacklog:    {`somaxconn {{n .Values.accept}}{{with .Values.syn}} and tcp_max_syn_backlog {{n .}}{{end}}`, ``, `sysctl -w {{.Names.settings}}`},
	record.OutputRoom:       {`{{.Names.dir}} can be written`, `, {{mib .Values.free}} MiB free`, ``},
	record.OutputUntold:     {`{{.Names.dir}} can be written`, `; its free space is not told: {{.Names.error}}`, ``},
	record.OutputFull:       {`only {{mib .Values.free}} MiB free in {{.Names.dir}}`, `; a record takes up to {{mib .Values.needed}} MiB`, `make room there, or use --out DIR on another file system`},
	record.OutputBlocked:    {`{{.Names.dir}} cannot be written: {{.Names.error}}`, ``, `--out DIR in a directory that can be written{{with .Names.read_only}}, or as root: mount -o remount,rw on the file system of {{.}}{{end}}`},
	record.GoSettings:       {`{{or .Names.set "nothing set that shapes Go programs"}}`, ``, `env -u {{.Names.unset}} schedlab ...; keep what is meant, and say so with --note`},
	record.ClockSource:      {`{{.Names.source}}`, ``, ``},
	record.ClockSlow:        {`{{.Names.source}}`, `, which is slow to read`, `{{with .Names.faster}}as root: echo {{.}} > {{$.Names.file}}{{else}}boot with tsc=reliable if the CPUs' counters are in step; else use another machine{{end}}`},
	record.ClockSteady:      {`none over {{round .Values.watched .01}}`, ``, ``},
	record.ClockStepped:     {`the time of day stepped {{n .Values.steps}} times over {{round .Values.watched .01}}`, `, by {{round .Values.largest 1e-4}} at most`, `let one NTP daemon slew the clock (chronyd: makestep at its start only), turn off time synchronisation of the host's tools, and see that the machine is not suspended`},
	record.TimerLate:        {`a hundredth of sleeps end {{short .Values.p99}} late or more`, `, half of them {{short .Values.p50}}`, `give the load CPUs that nothing else runs on (--load-cpus, and see the check of other programs)`},
	record.ThreadPaused:     {`a busy thread is off its CPU for up to {{short .Values.longest}}`, `{{template "paused" .}}`, `{{template "unpause" .}}`},
	record.ReplyGap:         {`the longest gap between two of {{n .Values.replies}} replies in {{short .Values.span}} is {{short .Values.longest}}`, `{{template "paused" .}}`, `{{template "unpause" .}}`},
	record.EngineAdds:       {`the load engine adds {{digits2 .Values.p50}} at p50 and {{digits2 .Values.p99}} at p99`, ` (null server, {{per .Values.rate}})`, `{{range .Because}}{{fix .}}{{else}}give the load a CPU that nothing else runs on (--load-cpus, and see the checks of other programs and steal){{end}}`},
	record.NoiseKnown:       {`{{template "because" .}}`, ``, ``},
	record.NoiseTooHigh:     {`cannot tell a tenth`, `: {{template "because" .}}`, `{{if and .Values.all (not .Values.window)}}use a quieter machine: no --window up to a minute will do{{else if .Values.window}}compare --protocol full --window {{time .Values.window}}{{else}}compare --protocol full; for the rest no --window up to a minute will do{{end}}; mend what else is found here`},
	record.NoiseFewBlocks:   {`only {{n .Values.blocks}} of {{n .Values.ran}} blocks count`, `{{range .Because}}: {{say .}}{{end}}`, `{{template "rejected"}}`},
	record.NoiseNotRun:      {`the {{.Names.protocol}} comparison does not run here`, `: {{.Names.error}}`, `{{template "rejected"}}`},
}

// findingParts are templates that several findings share.
const findingParts = `
{{define "first"}}{{with .Because}}{{say (index . 0)}}{{end}}{{end}}
{{define "others"}}{{with .Because}}{{range slice . 1}}, {{say .}}{{end}}{{end}}{{end}}
{{define "free memory"}}end programs that hold memory (ps -e -o pid,rss,comm --sort=-rss | head){{end}}
{{define "paused"}}{{with .Names.cpu}}, where server and load take turns on CPU {{.}}{{end}}{{with .Values.needs}}: the p99 of any window shorter than {{round . .01}} that it falls into{{end}}{{end}}
{{define "unpause"}}{{range .Because}}{{fix .}}{{else}}keep other programs off these CPUs (isolcpus=, a cpuset, a dedicated machine), or compare --window {{round .Values.needs .01}}{{end}}{{end}}
{{define "rejected"}}mend what else is found here; then look at the blocks that a run leaves out: schedlab compare --arms nethttp,fasthttp{{end}}
{{define "half"}}{{if .Values.needs_window}}needs windows > {{printf "%.1f" .Values.needs_window}} s{{else if .Values.judged}}±{{part .Values.half_width}}{{else}}not judged{{end}}{{end}}
`
