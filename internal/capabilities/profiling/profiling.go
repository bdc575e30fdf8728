// Package profiling holds the profiles of a run's arms, compares them, and writes their part of the report. It captures
// nothing.
package profiling

import (
	"io"

	"schedlab/internal/measuring/profile"
	"schedlab/internal/shared/record"
)

// profilesFile tells in a run's directory which profiles it has.
const profilesFile = "profiles.json"

// Profiles are profiles of the arms' servers, captured in extra windows that no verdict uses.
type Profiles struct {
	Arms []Arm `json:"arms"` // the arm that the others are compared with comes first
	// Flames are the flame graphs to draw: for each kind of profile one per arm, and one per difference.
	Flames []Flame `json:"-"`
}

// keptProfiles are Profiles as a file of the record.
type keptProfiles struct {
	Schema int `json:"schema"`
	Profiles
}

// Key is the profiles' key in the JSON of their run's result.
func (p *Profiles) Key() string { return "profiles" }

// Keep notes in the run's record which profiles it has.
func Keep(d *record.Dir, p *Profiles) error {
	return d.WriteFile(profilesFile, func(w io.Writer) error { return record.WriteJSON(w, keptProfiles{record.Schema, *p}) })
}

// Kept reads which profiles a run's record has; nil if it has none.
func Kept(d *record.Dir) (*Profiles, error) {
	var kept keptProfiles
	if there, err := d.ReadJSON(profilesFile, &kept); err != nil {
		return nil, err
	} else if !there {
		return oldProfiles(d)
	}
	return &kept.Profiles, nil
}

// KeepOld saves the profiles that an old explanation in the record holds, before another explanation replaces it.
func KeepOld(d *record.Dir) error {
	if old, err := oldProfiles(d); old == nil || err != nil {
		return nil // an explanation that cannot be read has no profiles, either
	}
	p, err := Kept(d)
	if err != nil || p == nil {
		return nil
	}
	return Keep(d, p)
}

// oldProfiles reads the profiles that an explanation in the record holds, as `explain --profiles` once
// wrote them; nil if there are none.
func oldProfiles(d *record.Dir) (*Profiles, error) {
	var x struct {
		Profiles *struct {
			Arms  []Arm                   `json:"arms"`
			Moved []profile.FunctionShare `json:"moved"` // of the second arm
		} `json:"profiles"`
	}
	if _, err := d.ReadJSON("why.json", &x); err != nil || x.Profiles == nil {
		return nil, err
	}
	p := &Profiles{Arms: x.Profiles.Arms}
	if len(p.Arms) > 1 {
		p.Arms[1].Moved = x.Profiles.Moved
	}
	return p, nil
}

// An Arm is the profiles of one arm.
type Arm struct {
	Arm            string   `json:"arm"`
	Files          []string `json:"files"`             // below the run's directory; empty if the server offers no profiles
	Samples        int64    `json:"samples"`           // in the CPU profile, 0 without one
	Seconds        float64  `json:"seconds,omitempty"` // that the CPU profile took, 0 unknown
	profile.Change          // from the first arm's CPU samples
	// Requests sums up how the requests in the execution trace spent their time; nil if the trace
	// marks no requests.
	Requests *profile.RequestTimes `json:"requests,omitempty"`
}

// A Flame is a flame graph of an arm, or of the difference between two arms.
type Flame struct {
	Kind   string // cpu, allocs, ...
	Arm    string
	Base   string // the arm compared with; "" for none
	File   string // below the run's directory
	Frames []profile.Frame
}
