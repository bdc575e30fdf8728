package stats

import "testing"

func TestChange(t *testing.T) {
	t.Parallel()
	for ratio, want := range map[float64]string{
		1: "±0 %", 1.0001: "±0 %", .9999: "±0 %", 1.42: "+42 %", .985: "-1.5 %", 1.015: "+1.5 %", .5: "-50 %", 0: "-100 %",
		1.0994: "+9.9 %", 1.0996: "+10 %", .9006: "-9.9 %", .9004: "-10 %", // two digits, from 9.95 % on
		3.99: "+299 %", 4: "×4.0", 9.9: "×9.9", 10: "×10", 12.4: "×12",
	} {
		if got := Change(ratio); got != want {
			t.Errorf("%v: got %q, want %q", ratio, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	if Count(true) != 1 || Count(false) != 0 {
		t.Errorf("true counts %d and false %d, want 1 and 0", Count(true), Count(false))
	}
}

func TestMetricOf(t *testing.T) {
	t.Parallel()
	for _, m := range Metrics() {
		if got := MetricOf(m.Name); got != m {
			t.Errorf("%s: got %+v, want %+v", m.Name, got, m)
		}
	}
	if got := MetricOf("p51"); got != (Metric{Name: "p51", Label: "p51", In: "in p51"}) {
		t.Errorf("no metric: got %+v, want the name alone", got)
	}
}
