package doctor

import "schedlab/internal/record"

// Facts about a machine, and the verdict whether it is fit to measure on.
var (
	machineVerdict   = record.Sentence("machine-verdict", `{{.Names.verdict}}{{range $i, $f := .Because}}{{if $i}}; {{else}}: {{end}}{{.Names.check}}: {{gist .}}{{end}}{{with .Values.more}}; and {{count .}} more{{end}}`)
	notTold          = sentences("not-told", `{{with .Names.error}}{{.}}{{else}}{{.Names.untold}}{{end}}`, ``, ``)
	cpusApart        = sentences("cpus-apart", `server {{.Names.server}}`, `, load {{.Names.load}}{{if eq .Values.server 1.0}}: one for the server, whose GOMAXPROCS is 1{{end}}`, ``)
	cpusOne          = sentences("cpus-one", `one CPU only ({{.Names.used}})`, `: server and load share it`, `{{if gt .Values.online 1.0}}{{count .Values.online}} CPUs are online: taskset -c {{.Names.online}} schedlab ..., or a wider --cpuset-cpus of the container{{else}}use a machine with two CPUs or more{{end}}`)
	cpusUnpinned     = sentences("cpus-unpinned", `server and load are not pinned and share CPUs {{.Names.used}}`, ``, `--pin auto, on Linux`)
	cpusShared       = sentences("cpus-shared", `server and load share CPUs`, `: server {{.Names.server}}, load {{.Names.load}}`, `give them CPUs of their own: --server-cpus {{.Names.first}} --load-cpus {{.Names.second}}`)
	cpusPartlyShared = sentences("cpus-partly-shared", `the load shares CPU {{.Names.shared}} with the servers`, `: server {{.Names.server}}, load {{.Names.load}}`, `a question for GOMAXPROCS 2 on two CPUs needs it; otherwise leave --server-cpus out`)
	coresApart       = sentences("cores-apart", `server and load share {{if .Values.shared}}whole CPUs, of which the check of CPUs tells{{else}}no core{{end}}`, ``, ``)
	coreShared       = sentences("core-shared", `CPU {{.Names.server}} of the server and {{.Names.load}} of the load are threads of one core`, ``, `{{if .Names.first}}give each whole cores: --server-cpus {{.Names.first}} --load-cpus {{.Names.second}}{{else}}it is the only core: use a machine with two, or turn hardware threads off (echo off > /sys/devices/system/cpu/smt/control){{end}}`)
	cpuLimit         = sentences("cpu-limit", `{{if .Names.file}}{{printf "%.2f" .Values.limit}} CPUs ({{.Names.file}}){{else}}none{{end}}`, `{{if .Names.file}}, for {{count .Values.used}} in use{{end}}`, `run without the limit: docker run without --cpus, no cpu limit in the pod, or echo max > /{{.Names.file}}`)
	clockRate        = sentences("clock-rate", `{{template "first" .}}`, `{{template "others" .}}`, `as root: {{with .Names.turbo}}echo {{$.Names.off}} > /{{.}}{{if $.Values.governors}}; {{end}}{{end}}{{if .Values.governors}}for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance > $f; done{{end}}`)
	governor         = record.Sentence("governor", `{{with .Names.turbo}}turbo {{.}}{{else}}{{.Names.governor}} on CPU {{.Names.cpus}}{{end}}`)
	othersNow        = sentences("others-now", `{{template "first" .}}`, `{{template "others" .}}{{if .Because}}, {{end}}over {{round .Values.watched .01}}`, `{{with .Names.pids}}let them end, or hold them meanwhile: kill -STOP {{.}}, and afterwards kill -CONT {{.}}{{else}}look for them on the host (top), and let them end or keep them off these CPUs (taskset, --cpuset-cpus){{end}}`)
	programNow       = record.Sentence("program-now", `{{.Names.program}} (pid {{count .Values.pid}}) {{percent .Values.share}} of CPU {{count .Values.cpu}}`)
	unseenNow        = record.Sentence("unseen-now", `{{printf "%.1f" .Values.cpus}} CPUs busy with programs that are not seen from here`)
	loadAverage      = record.Sentence("load-average", `load average {{.Names.average}}`)
	stealNow         = sentences("steal-now", `{{percentf "%.1f" .Values.share}} of the CPUs' time over {{round .Values.watched .01}}`, ``, `use a machine with CPUs of its own (a dedicated instance), or another hour`)
	pressure         = sentences("pressure", `some task waited for a CPU in {{percentf "%.1f" .Values.cpu}} and for memory in {{percentf "%.1f" .Values.memory}} of the time`, ``, `{{if .Values.short_of_memory}}{{template "free memory"}}{{else}}let other programs end (see the check of other programs) and ask again after ten seconds{{end}}`)
	memoryFree       = sentences("memory-free", `{{mib .Values.free}} MiB available`, ``, `{{template "free memory"}}, or use a larger machine`)
	swapUsed         = sentences("swap-used", `{{mib .Values.used}} of {{mib .Values.total}} MiB in use`, ``, `as root: swapoff -a && swapon -a, which brings all pages back; it needs that much free memory`)
	descriptors      = sentences("descriptors", `{{count .Values.soft}} descriptors`, `, hard limit {{count .Values.hard}}: {{count .Values.connections}} connections in each process`, `{{if lt .Values.hard 65536.0}}as root: prlimit --nofile=65536:65536 --pid $$ in the shell that starts schedlab; for good: nofile in /etc/security/limits.conf, or LimitNOFILE= of the service{{else}}ulimit -n 65536 in the shell that starts schedlab{{end}}`)
	localPorts       = sentences("local-ports", `{{count .Values.ports}} local ports`, `, so as many connections a window, {{count .Values.rate}}/s in a quick one{{with .Values.waiting}}; {{count .}} sockets in TIME_WAIT, in the way of load on the same server only{{end}}`, `sysctl -w net.ipv4.ip_local_port_range='1024 65535'`)
	listenBacklog    = sentences("listen-backlog", `somaxconn {{count .Values.accept}}{{with .Values.syn}} and tcp_max_syn_backlog {{count .}}{{end}}`, ``, `sysctl -w {{.Names.settings}}`)
	outputRoom       = sentences("output-room", `{{.Names.dir}} can be written`, `, {{mib .Values.free}} MiB free`, ``)
	outputUntold     = sentences("output-untold", `{{.Names.dir}} can be written`, `; its free space is not told: {{.Names.error}}`, ``)
	outputFull       = sentences("output-full", `only {{mib .Values.free}} MiB free in {{.Names.dir}}`, `; a record takes up to {{mib .Values.needed}} MiB`, `make room there, or use --out DIR on another file system`)
	outputBlocked    = sentences("output-blocked", `{{.Names.dir}} cannot be written: {{.Names.error}}`, ``, `--out DIR in a directory that can be written{{with .Names.read_only}}, or as root: mount -o remount,rw on the file system of {{.}}{{end}}`)
	goSettings       = sentences("go-settings", `{{or .Names.set "nothing set that shapes Go programs"}}`, ``, `env -u {{.Names.unset}} schedlab ...; keep what is meant, and say so with --note`)
	clockSource      = sentences("clock-source", `{{.Names.source}}`, ``, ``)
	clockSlow        = sentences("clock-slow", `{{.Names.source}}`, `, which is slow to read`, `{{with .Names.faster}}as root: echo {{.}} > {{$.Names.file}}{{else}}boot with tsc=reliable if the CPUs' counters are in step; else use another machine{{end}}`)
	clockSteady      = sentences("clock-steady", `none over {{round .Values.watched .01}}`, ``, ``)
	clockStepped     = sentences("clock-stepped", `the time of day stepped {{count .Values.steps}} times over {{round .Values.watched .01}}`, `, by {{round .Values.largest 1e-4}} at most`, `let one NTP daemon slew the clock (chronyd: makestep at its start only), turn off time synchronisation of the host's tools, and see that the machine is not suspended`)
	timerLate        = sentences("timer-late", `a hundredth of sleeps end {{short .Values.p99}} late or more`, `, half of them {{short .Values.p50}}`, `give the load CPUs that nothing else runs on (--load-cpus, and see the check of other programs)`)
	threadPaused     = sentences("thread-paused", `a busy thread is off its CPU for up to {{short .Values.longest}}`, `{{template "paused" .}}`, `{{template "unpause" .}}`)
	replyGap         = sentences("reply-gap", `the longest gap between two of {{count .Values.replies}} replies in {{short .Values.span}} is {{short .Values.longest}}`, `{{template "paused" .}}`, `{{template "unpause" .}}`)
	engineAdds       = sentences("engine-adds", `the load engine adds {{twoDigits .Values.p50}} at p50 and {{twoDigits .Values.p99}} at p99`, ` (null server, {{per .Values.rate}})`, `{{range .Because}}{{fix .}}{{else}}give the load a CPU that nothing else runs on (--load-cpus, and see the checks of other programs and steal){{end}}`)
	noiseKnown       = sentences("noise-known", `{{template "because" .}}`, ``, ``)
	noiseTooHigh     = sentences("noise-too-high", `cannot tell a tenth`, `: {{template "because" .}}`, `{{if and .Values.all (not .Values.window)}}use a quieter machine: no --window up to a minute will do{{else if .Values.window}}compare --protocol full --window {{time .Values.window}}{{else}}compare --protocol full; for the rest no --window up to a minute will do{{end}}; mend what else is found here`)
	noiseFewBlocks   = sentences("noise-few-blocks", `only {{count .Values.blocks}} of {{count .Values.ran}} blocks count`, `{{range .Because}}: {{say .}}{{end}}`, `{{template "rejected"}}`)
	NoiseNotRun      = sentences("noise-not-run", `the {{.Names.protocol}} comparison does not run here`, `: {{.Names.error}}`, `{{template "rejected"}}`)
	noiseList        = record.Sentence("noise-list", `{{template "first" .}}{{template "others" .}}`)
	noiseOf          = record.Sentence("noise-of", `{{.Metric}} {{template "half" .}} ({{.Names.protocol}})`)
	noiseOpen        = record.Sentence("noise-open", `{{.Metric}} in a {{.Names.protocol}} comparison{{if not .Values.judged}} ({{template "half" .}}){{end}}`)
	noiseWidth       = record.Sentence("noise-width", `{{template "half" .}}`)
	noiseBlocksLeft  = record.Sentence("noise-blocks-left", `; {{count .Values.left}} of {{count .Values.ran}} blocks left out{{range .Because}}, the first since {{say .}}{{end}}`)
	blockRefused     = record.Sentence("block-refused", `block {{count .Values.block}} of {{.Arm}} had {{.Names.rule}} {{printf "%.3g" .Values.value}}, {{if lt .Values.value .Values.limit}}below{{else}}above{{end}} {{printf "%.3g" .Values.limit}}`)
)

// Templates that sentences share.
var (
	_ = record.Sentence("first", `{{with .Because}}{{say (index . 0)}}{{end}}`)
	_ = record.Sentence("others", `{{with .Because}}{{range slice . 1}}, {{say .}}{{end}}{{end}}`)
	_ = record.Sentence("free memory", `end programs that hold memory (ps -e -o pid,rss,comm --sort=-rss | head)`)
	_ = record.Sentence("paused", `{{with .Names.cpu}}, where server and load take turns on CPU {{.}}{{end}}{{with .Values.needs}}: the p99 of any window shorter than {{round . .01}} that it falls into{{end}}`)
	_ = record.Sentence("unpause", `{{range .Because}}{{fix .}}{{else}}keep other programs off these CPUs (isolcpus=, a cpuset, a dedicated machine), or compare --window {{round .Values.needs .01}}{{end}}`)
	_ = record.Sentence("rejected", `mend what else is found here; then look at the blocks that a run leaves out: schedlab compare --arms nethttp,fasthttp`)
	_ = record.Sentence("half", `{{if .Values.needs_window}}needs windows > {{printf "%.1f" .Values.needs_window}} s{{else if .Values.judged}}±{{part .Values.half_width}}{{else}}not judged{{end}}`)
)

// sentences registers the sentences of a check's code. gist is the figure that matters, rest follows
// it in the full sentence, and fix says what to do.
func sentences(code record.Code, gist, rest, fix string) record.Code {
	record.Sentence(code+" gist", gist)
	record.Sentence(code+" fix", fix)
	return record.Sentence(code, gist+rest)
}
