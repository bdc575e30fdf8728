package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"schedlab/internal/measuring/scenario"
)

// A Question says which arms are asked, under which load. Its fields are texts as a user writes them in a scenario file
// or in flags. The zero value asks the default scenario.
type Question struct {
	Scenarios []string `json:"scenarios,omitempty"` // names, files, directories, or all
	// Arms picks arms from the scenario, from Added and from the modes. Added adds arms to the scenario.
	Arms  []string `json:"arms,omitempty"`
	Added []string `json:"added,omitempty"`
	Vary  []string `json:"vary,omitempty"` // an arm for each value of a factor, like workers=4,8
	Adhoc
	Close  bool          `json:"close,omitempty"` // a connection for each request
	Rate   scenario.Rate `json:"rate,omitzero"`   // zero: the scenario's
	Engine string        `json:"engine,omitempty"`
	Stamps string        `json:"stamps,omitempty"`
	Seed   *uint64       `json:"seed,omitempty"` // nil: drawn
}

// Adhoc replaces a scenario. It holds the requests for any server, which are a path, a file of targets or an access
// log, or the cost of a request on a server of this program. access.log@10x replays a log ten times as fast. The zero
// value means that there is a scenario.
type Adhoc struct {
	Path     string `json:"path,omitempty"`
	Targets  string `json:"targets,omitempty"`
	Log      string `json:"log,omitempty"`
	Workload string `json:"workload,omitempty"`
}

// Where says where a request is carried out, and where its record is kept.
type Where struct {
	CPUs        string        `json:"cpus,omitempty"`         // of servers and load, like 0-1/2-3; "" chooses
	AllowRemote bool          `json:"allow_remote,omitempty"` // arms may be on other machines
	WaitIdle    time.Duration `json:"wait_idle,omitempty"`    // longest wait for a quiet machine; 0 starts at once
	Out         string        `json:"out,omitempty"`          // directory of records; "" is record.DefaultRoot
	Cluster     string        `json:"cluster,omitempty"`      // file of the cluster's settings, in a Pod; "" is this machine
}

// Limits bound a request. 0 is the scenario's limit, or none.
type Limits struct {
	Blocks int           `json:"blocks,omitempty"`
	Window time.Duration `json:"window,omitempty"`
	Warmup time.Duration `json:"warmup,omitempty"`
	Budget time.Duration `json:"budget,omitempty"` // of each comparison, or of each arm's search
	Total  time.Duration `json:"total,omitempty"`  // of all comparisons together
}

// Common is what Compare, Gate and Capacity have in common.
type Common struct {
	Question
	Where
	Limits
	Note     string `json:"note,omitempty"`    // a remark to keep in the record
	Command  string `json:"command,omitempty"` // the line of a shell that asks the same, for the record of a single run on this machine
	Profiles bool   `json:"profiles,omitempty"`
	DryRun   bool   `json:"dry_run,omitempty"` // plan, and run nothing
}

// A Capacity asks for the highest rate at which each arm keeps an objective. Question has one scenario at most.
type Capacity struct {
	Common
	SLO string `json:"slo"`
}

// An Order is a request for another process of this program, as JSON, with how that process shows it. One of the three
// requests is there. Output and Progress are values of the command's flags of that name.
type Order struct {
	Compare  *Compare  `json:"compare,omitempty"`
	Gate     *Gate     `json:"gate,omitempty"`
	Capacity *Capacity `json:"capacity,omitempty"`
	Output   string    `json:"output"`
	Verbose  bool      `json:"verbose,omitempty"`
	Progress string    `json:"progress"`
}

// ReadOrder reads an order. A field that this version does not know is an error: to leave it out would be to do
// something else than was asked.
func ReadOrder(text []byte) (o Order, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, Usagef("the request cannot be read (%w); it may be of another version of schedlab: take the same one on both sides", err)
	}
	given := 0
	for _, there := range []bool{o.Compare != nil, o.Gate != nil, o.Capacity != nil} {
		if there {
			given++
		}
	}
	if given != 1 {
		return o, Usage(errors.New("the request is none of compare, gate and capacity; it may be of another version of schedlab: take the same one on both sides"))
	}
	return o, nil
}

// Common returns the part that all requests have, to change it.
func (o Order) Common() *Common {
	switch {
	case o.Compare != nil:
		return &o.Compare.Common
	case o.Gate != nil:
		return &o.Gate.Common
	}
	return &o.Capacity.Common
}

// Request returns the request.
func (o Order) Request() Request {
	switch {
	case o.Compare != nil:
		return *o.Compare
	case o.Gate != nil:
		return *o.Gate
	}
	return *o.Capacity
}

// JSON returns the order as ReadOrder reads it.
func (o Order) JSON() ([]byte, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("writing a request: %w", err)
	}
	return text, nil
}
