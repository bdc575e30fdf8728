package doctor

import (
	"time"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/stats"
)

// checked is in the values of each check's findings.
type checked struct {
	Check string `json:"check,omitempty"` // its name, which Examine adds
}

// silent is in the values of findings where the machine does not tell.
type silent struct {
	Untold string // which Examine adds
}

// What the findings about CPUs tell. CPUs are lists like 0-1.
type (
	notTelling struct {
		checked
		silent
		Error string `json:"error,omitempty"` // why it does not, where that is known
	}
	cpuSides struct {
		checked
		Server, Load, Used string
	}
	cpuSplit struct {
		cpuSides
		ServerCPUs int `json:"server"`
	}
	oneCPU struct {
		cpuSides
		Online     int
		OnlineCPUs string `json:"online"`
	}
	cpusInCommon struct {
		cpuSides
		Shared string
	}
	cpusMixed struct {
		cpuSides
		First, Second string // a split that would be better
	}
	coreSplit struct {
		checked
		Shared bool // whole CPUs are
	}
	coreMixed struct {
		checked
		Server, Load string
		First        string `json:"first,omitempty"` // a split that would be better, if there is one
		Second       string `json:"second,omitempty"`
	}
	// A cpuQuota is zero where there is none.
	cpuQuota struct {
		checked
		Limit float64 `json:"limit,omitempty"` // CPUs
		Used  int     `json:"used,omitempty"`  // CPUs
		File  string  `json:"file,omitempty"`
	}
	clockRates struct {
		checked
		Governors int    `json:"governors,omitempty"` // that are not as they should be
		Turbo     string `json:"turbo,omitempty"`     // the file that turns it off, if it is on
		Off       string `json:"off,omitempty"`       // what to write there
	}
	// governed has either a governor or whether turbo is on.
	governed struct {
		Governor string `json:"governor,omitempty"`
		CPUs     string `json:"cpus,omitempty"`
		Turbo    string `json:"turbo,omitempty"`
	}
	lookedAt struct {
		checked
		Watched float64 // seconds
		PIDs    string
	}
	busyProgram struct {
		Program  string
		PID, CPU int
		Share    float64 // of a CPU
	}
	unseenPrograms struct{ CPUs float64 } // that they keep busy
	averages       struct{ Average string }
	takenShare     struct{ Share float64 } // of the CPUs' time
	stolenTime     struct {
		checked
		Share, Watched float64 // ratio of the CPUs' time; seconds of the watch
	}
	pressures struct {
		checked
		CPU, Memory   float64 // ratios of the time
		ShortOfMemory bool
	}
)

// What the findings about limits tell. Sizes are in bytes; a limit may be larger than an int.
type (
	freeMemory struct {
		checked
		Free float64
	}
	usedSwap struct {
		checked
		Used, Total float64
	}
	fileLimits struct {
		checked
		Soft, Hard, Connections float64
	}
	portRange struct {
		checked
		Ports   int
		Rate    float64   // connections per second
		Waiting stats.Opt // sockets in TIME_WAIT
	}
	queueLimits struct {
		checked
		Accept, SYN float64 // 0 for a SYN queue that the machine does not tell
		Settings    string  // that mend it
	}
	outputDir struct {
		checked
		Dir          string
		Free, Needed float64
	}
	outputNotTelling struct {
		checked
		silent
		Dir, Error string
	}
	outputRefused struct {
		checked
		Dir, Error string
		ReadOnly   string // directory on a read-only file system; "" for none
	}
	goVariables struct {
		checked
		Set, Unset string // as NAME=VALUE, and as arguments of env
	}
)

// What the findings about clocks and pauses tell.
type (
	clockNamed struct {
		checked
		Source string
		Faster string `json:"faster,omitempty"` // another one, if there is one
		File   string `json:"file,omitempty"`   // to write Faster to
	}
	clockWatched struct {
		checked
		Watched time.Duration
	}
	clockMoved struct {
		clockWatched
		Steps   int
		Largest time.Duration
	}
	sleepsLate struct {
		checked
		P50, P99 time.Duration
	}
	longestPause struct{ Longest time.Duration }
	pauses       struct {
		checked
		longestPause
		CPU      string        `json:"cpu,omitempty"`      // on which server and load take turns
		Needs    time.Duration `json:"needs,omitempty"`    // the window that it takes; 0 if the scenario's own will do
		Own      time.Duration `json:"own,omitempty"`      // that window, where that is worth a word
		Scenario string        `json:"scenario,omitempty"` // whose window it is
	}
	gaps struct {
		pauses
		Replies int
		Span    time.Duration
	}
	engineTimes struct {
		checked
		P50, P99 float64 // seconds
		Rate     float64
	}
)

// What the findings about noise tell. Windows are in seconds.
type (
	noiseLimits struct {
		checked
		Metrics string  // that are not told apart
		All     bool    // they are all that were judged
		Window  float64 // that would do, 0 for none up to a minute
	}
	blocksLost struct {
		checked
		Blocks, Ran int
	}
	// NotRun is why a comparison could not be made.
	NotRun struct {
		checked
		Comparison string // one of Comparisons
		Error      string
	}
	width struct {
		Comparison  string
		NeedsWindow float64
		*Width
	}
	// Width is there if the metric was judged.
	Width struct {
		Judged    bool
		HalfWidth float64
		Least     float64 // the least difference that counts
		Scaled    bool
	}
	blocksLeft  struct{ Left, Ran int }
	blockFigure struct {
		Block        int
		Rule         string
		Value, Limit float64
	}
)

// Templates that sentences share.
var (
	_ = fact.Part("first", `{{with .Because}}{{say (index . 0)}}{{end}}`)
	_ = fact.Part("others", `{{with .Because}}{{range slice . 1}}, {{say .}}{{end}}{{end}}`)
	_ = fact.Part("free memory", `end programs that hold memory (ps -e -o pid,rss,comm --sort=-rss | head)`)
	_ = fact.Part("paused", `{{with .CPU}}, where server and load take turns on CPU {{.}}{{end}}{{with .Needs}}: the p99 of any window shorter than {{round . .01}} that it falls into{{end}}{{with .Own}}: the windows of {{$.Scenario}}, {{round . .01}}, do{{end}}`)
	_ = fact.Part("unpause", `{{range .Because}}{{fix .}}{{else}}keep other programs off these CPUs (isolcpus=, a cpuset, a dedicated machine), or compare --window {{round .Needs .01}}{{end}}`)
	_ = fact.Part("rejected", `mend what else is found here; then look at the blocks that a run leaves out: schedlab compare --arms nethttp,fasthttp`)
	_ = fact.Part("half", `{{if .NeedsWindow}}needs windows > {{printf "%.1f" .NeedsWindow}} s{{else if .Judged}}±{{part .HalfWidth}}{{else}}not judged{{end}}`)
)

// Facts about a machine.
var (
	machineLimits    = fact.Plain("machine-limits", 0, `Limits: {{template "first" .}}{{template "others" .}}`)
	limitOneCPU      = fact.Plain("limit-one-cpu", 0, `one server CPU (GOMAXPROCS 1)`)
	limitVirtual     = fact.Plain("limit-virtual", 0, `a virtual machine`)
	limitSteal       = fact.New[takenShare]("limit-steal", 0, `{{percentf "%.1f" .Share}} steal`)
	limitPause       = fact.New[longestPause]("limit-pause", 0, `pauses of up to {{short .Longest}}`)
	notTold          = sentences[notTelling]("not-told", `{{with .Error}}{{.}}{{else}}{{.Untold}}{{end}}`, ``, ``)
	cpusApart        = sentences[cpuSplit]("cpus-apart", `server {{.Server}}`, `, load {{.Load}}{{if eq .ServerCPUs 1}}: one for the server, whose GOMAXPROCS is 1{{end}}`, ``)
	cpusOne          = sentences[oneCPU]("cpus-one", `one CPU only ({{.Used}})`, `: server and load share it`, `{{if gt .Online 1}}{{count .Online}} CPUs are online: taskset -c {{.OnlineCPUs}} schedlab ..., or a wider --cpuset-cpus of the container{{else}}use a machine with two CPUs or more{{end}}`)
	cpusUnpinned     = sentences[cpuSides]("cpus-unpinned", `server and load are not pinned and share CPUs {{.Used}}`, ``, `leave --cpus none out, on Linux`)
	cpusShared       = sentences[cpusMixed]("cpus-shared", `server and load share CPUs`, `: server {{.Server}}, load {{.Load}}`, `give them CPUs of their own: --cpus {{.First}}/{{.Second}}`)
	cpusPartlyShared = sentences[cpusInCommon]("cpus-partly-shared", `the load shares CPU {{.Shared}} with the servers`, `: server {{.Server}}, load {{.Load}}`, `a question for GOMAXPROCS 2 on two CPUs needs it; otherwise leave --cpus out`)
	coresApart       = sentences[coreSplit]("cores-apart", `server and load share {{if .Shared}}whole CPUs, of which the check of CPUs tells{{else}}no core{{end}}`, ``, ``)
	coreShared       = sentences[coreMixed]("core-shared", `CPU {{.Server}} of the server and {{.Load}} of the load are threads of one core`, ``, `{{if .First}}give each whole cores: --cpus {{.First}}/{{.Second}}{{else}}it is the only core: use a machine with two, or turn hardware threads off (echo off > /sys/devices/system/cpu/smt/control){{end}}`)
	cpuLimit         = sentences[cpuQuota]("cpu-limit", `{{if .File}}{{printf "%.2f" .Limit}} CPUs ({{.File}}){{else}}none{{end}}`, `{{if .File}}, for {{count .Used}} in use{{end}}`, `run without the limit: docker run without --cpus, no cpu limit in the pod, or echo max > /{{.File}}`)
	clockRate        = sentences[clockRates]("clock-rate", `{{template "first" .}}`, `{{template "others" .}}`, `as root: {{with .Turbo}}echo {{$.Off}} > /{{.}}{{if $.Governors}}; {{end}}{{end}}{{if .Governors}}for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance > $f; done{{end}}`)
	governor         = fact.New[governed]("governor", 0, `{{with .Turbo}}turbo {{.}}{{else}}{{.Governor}} on CPU {{.CPUs}}{{end}}`)
	othersNow        = sentences[lookedAt]("others-now", `{{template "first" .}}`, `{{template "others" .}}{{if .Because}}, {{end}}over {{round .Watched .01}}`, `{{if .PIDs}}measure when they are idle, or stop them if they are yours{{else}}look for them on the host (top), and let them end or keep them off these CPUs (taskset, --cpuset-cpus){{end}}`)
	programNow       = fact.New[busyProgram]("program-now", 0, `{{.Program}} (pid {{count .PID}}) {{percent .Share}} of {{if gt .Share 1.0}}a CPU, last on {{end}}CPU {{count .CPU}}`)
	unseenNow        = fact.New[unseenPrograms]("unseen-now", 0, `{{printf "%.1f" .CPUs}} CPUs busy with programs that are not seen from here`)
	loadAverage      = fact.New[averages]("load-average", 0, `load average {{.Average}}`)
	stealNow         = sentences[stolenTime]("steal-now", `{{percentf "%.1f" .Share}} of the CPUs' time over {{round .Watched .01}}`, ``, `use a machine with CPUs of its own (a dedicated instance), or another hour`)
	pressure         = sentences[pressures]("pressure", `some task waited for a CPU in {{percentf "%.1f" .CPU}} and for memory in {{percentf "%.1f" .Memory}} of the time`, ``, `{{if .ShortOfMemory}}{{template "free memory" .}}{{else}}let other programs end (see the check of other programs) and ask again after ten seconds{{end}}`)
	memoryFree       = sentences[freeMemory]("memory-free", `{{mib .Free}} MiB available`, ``, `{{template "free memory" .}}, or use a larger machine`)
	swapUsed         = sentences[usedSwap]("swap-used", `{{mib .Used}} of {{mib .Total}} MiB in use`, ``, `as root: swapoff -a && swapon -a, which brings all pages back; it needs that much free memory`)
	descriptors      = sentences[fileLimits]("descriptors", `{{count .Soft}} descriptors`, `, hard limit {{count .Hard}}: {{count .Connections}} connections in each process`, `{{if lt .Hard 65536.0}}as root: prlimit --nofile=65536:65536 --pid $$ in the shell that starts schedlab; for good: nofile in /etc/security/limits.conf, or LimitNOFILE= of the service{{else}}ulimit -n 65536 in the shell that starts schedlab{{end}}`)
	localPorts       = sentences[portRange]("local-ports", `{{count .Ports}} local ports`, `, so as many connections a window, {{count .Rate}}/s in a quick one{{with .Waiting}}; {{count .}} sockets in TIME_WAIT, in the way of load on the same server only{{end}}`, `sysctl -w net.ipv4.ip_local_port_range='1024 65535'`)
	listenBacklog    = sentences[queueLimits]("listen-backlog", `somaxconn {{count .Accept}}{{with .SYN}} and tcp_max_syn_backlog {{count .}}{{end}}`, ``, `sysctl -w {{.Settings}}`)
	outputRoom       = sentences[outputDir]("output-room", `{{.Dir}} can be written`, `, {{mib .Free}} MiB free`, ``)
	outputUntold     = sentences[outputNotTelling]("output-untold", `{{.Dir}} can be written`, `; its free space is not told: {{.Error}}`, ``)
	outputFull       = sentences[outputDir]("output-full", `only {{mib .Free}} MiB free in {{.Dir}}`, `; a record takes up to {{mib .Needed}} MiB`, `make room there, or use --out DIR on another file system`)
	outputBlocked    = sentences[outputRefused]("output-blocked", `{{.Dir}} cannot be written: {{.Error}}`, ``, `--out DIR in a directory that can be written{{with .ReadOnly}}, or as root: mount -o remount,rw on the file system of {{.}}{{end}}`)
	goSettings       = sentences[goVariables]("go-settings", `{{or .Set "nothing set that shapes Go programs"}}`, ``, `env -u {{.Unset}} schedlab ...; keep what is meant, and say so with --note`)
	clockSource      = sentences[clockNamed]("clock-source", `{{.Source}}`, ``, ``)
	clockSlow        = sentences[clockNamed]("clock-slow", `{{.Source}}`, `, which is slow to read`, `{{with .Faster}}as root: echo {{.}} > {{$.File}}{{else}}boot with tsc=reliable if the CPUs' counters are in step; else use another machine{{end}}`)
	clockSteady      = sentences[clockWatched]("clock-steady", `none over {{round .Watched .01}}`, ``, ``)
	clockStepped     = sentences[clockMoved]("clock-stepped", `the time of day stepped {{count .Steps}} times over {{round .Watched .01}}`, `, by {{round .Largest 1e-4}} at most`, `let one NTP daemon slew the clock (chronyd: makestep at its start only), turn off time synchronisation of the host's tools, and see that the machine is not suspended`)
	timerLate        = sentences[sleepsLate]("timer-late", `a hundredth of sleeps end {{short .P99}} late or more`, `, half of them {{short .P50}}`, `give the load CPUs that nothing else runs on (--cpus, and see the check of other programs)`)
	threadPaused     = sentences[pauses]("thread-paused", `a busy thread is off its CPU for up to {{short .Longest}}`, `{{template "paused" .}}`, `{{template "unpause" .}}`)
	replyGap         = sentences[gaps]("reply-gap", `the longest gap between two of {{count .Replies}} replies in {{short .Span}} is {{short .Longest}}`, `{{template "paused" .}}`, `{{template "unpause" .}}`)
	engineAdds       = sentences[engineTimes]("engine-adds", `the load engine adds {{short .P50}} at p50 and {{short .P99}} at p99`, ` (null server, {{per .Rate}})`, `{{range .Because}}{{fix .}}{{else}}give the load a CPU that nothing else runs on (--cpus, and see the checks of other programs and steal){{end}}`)
	noiseKnown       = sentences[checked]("noise-known", `{{template "because" .}}`, ``, ``)
	noiseTooHigh     = sentences[noiseLimits]("noise-too-high", `cannot tell {{.Metrics}} 10 % apart`, `: {{template "because" .}}`, `{{if and .All (not .Window)}}use a quieter machine: no --window up to a minute will do{{else if .Window}}compare --window {{time .Window}} --budget 10m{{else}}compare --window 3.6s --budget 10m; for the rest no --window up to a minute will do{{end}}; mend what else is found here`)
	noiseFewBlocks   = sentences[blocksLost]("noise-few-blocks", `only {{count .Blocks}} of {{count .Ran}} blocks count`, `{{range .Because}}: {{say .}}{{end}}`, `{{template "rejected" .}}`)
	NoiseNotRun      = sentences[NotRun]("noise-not-run", `the {{.Comparison}} comparison does not run here`, `: {{.Error}}`, `{{template "rejected" .}}`)
	noiseList        = fact.Plain("noise-list", 0, `{{template "first" .}}{{template "others" .}}`)
	noiseOf          = fact.New[width]("noise-of", 0, `{{.Metric}} {{template "half" .}} ({{.Comparison}})`)
	noiseOpen        = fact.New[width]("noise-open", 0, `{{.Metric}} in a {{.Comparison}} comparison{{if not .Judged}} ({{template "half" .}}){{end}}`)
	noiseWidth       = fact.New[width]("noise-width", 0, `{{if not .Judged}}{{template "half" .}}{{else if lt .HalfWidth .Least}}{{percent .Least}} (noise {{template "half" .}}{{if .Scaled}}, estimated{{end}}){{else}}{{part .HalfWidth}}{{if .Scaled}} (estimated){{end}}{{end}}`)
	noiseBlocksLeft  = fact.New[blocksLeft]("noise-blocks-left", 0, `; {{count .Left}} of {{count .Ran}} blocks left out{{range .Because}}, the first since {{say .}}{{end}}`)
	blockRefused     = fact.New[blockFigure]("block-refused", 0, `block {{count .Block}} of {{.Arm}} had {{.Rule}} {{printf "%.3g" .Value}}, {{if lt .Value .Limit}}below{{else}}above{{end}} {{printf "%.3g" .Limit}}`)
)

// sentences registers the kind of a check's findings. gist is the figure that matters, rest follows it in the full sentence,
// and fix is the advice.
func sentences[T any](code fact.Code, gist, rest, fix string) *fact.Kind[T] {
	return fact.New[T](code, 0, gist+rest, also(gist, fix)...)
}

func also(gist, fix string) []fact.Sentence {
	return []fact.Sentence{fact.Also("gist", `{{.Check}}: `+gist), fact.Also("fix", fix)}
}
