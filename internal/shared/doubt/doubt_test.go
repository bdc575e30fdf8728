package doubt

import (
	"encoding/json"
	"testing"

	"schedlab/internal/shared/fact"
)

// What is not known has no key in JSON, and what is known to be zero has a zero.
func TestAZeroIsToldAndWhatIsNotKnownIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		fact          fact.Fact
		values, names string
	}{
		"the windows tell who was busy": {
			MachineBusy.Of(Taken{Side: "server", CPUs: 2, Share: .5, Who: OtherPrograms}),
			`{"brief":0,"cpus":2,"open":0,"share":0.5}`, `{"side":"server","who":"other"}`,
		},
		"the watchdog tells who was busy": {
			MachineBusy.Of(Taken{Side: "server", CPUs: 2, Share: .5, OfProgram: &OfProgram{Program: "hog"}, Watched: &Watched{Seconds: 9}}),
			`{"brief":0,"cpus":2,"more":0,"open":0,"others":0,"pid":0,"seconds":9,"share":0.5}`, `{"program":"hog","side":"server","who":""}`,
		},
		"no window would do": {FewRequests.Of(Few{Needed: 22}), `{"needed":22}`, `null`},
		"a window within the budget would do": {
			FewRequests.Of(Few{Needed: 22, Requests: 20, Longer: &Longer{Window: 3}}), `{"budget":0,"needed":22,"requests":20,"window":3}`, `null`,
		},
		"a machine whose noise is not known": {MachineVerdict.Of(Fitness{Verdict: "fit"}), `{"more":0}`, `{"verdict":"fit"}`},
		"a machine whose noise was measured with requests that compute": {
			MachineVerdict.Of(Fitness{Verdict: "fit", NoiseLoad: &NoiseLoad{Scenario: "quick"}}),
			`{"more":0,"sleeps":0}`, `{"asked":"","scenario":"quick","verdict":"fit"}`,
		},
	} {
		var got struct{ Values, Names map[string]any }
		text, err := json.Marshal(c.fact)
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		values, _ := json.Marshal(got.Values)
		names, _ := json.Marshal(got.Names)
		if err != nil || string(values) != c.values || string(names) != c.names {
			t.Errorf("%s: values %s, names %s, %v; want %s and %s", name, values, names, err, c.values, c.names)
		}
	}
}
