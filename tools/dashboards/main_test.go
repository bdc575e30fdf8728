package main

//lint:file-ignore SA1019 dashboardv2 would be the newer format; this one is read by every Grafana that the SDK knows

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// The committed dashboard is the one that the program makes, and has nothing that the SDK's type does
// not know.
func TestCommittedDashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "grafana", "dashboards", "overview.json"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := overview()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, made) {
		t.Error("overview.json is not what this program makes; run 'make dashboards'")
	}
	// The strict decoder knows panels and queries of the registered kinds alone.
	runtime := cog.NewRuntime()
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	runtime.RegisterPanelcfgVariant(stat.VariantConfig())
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
	if err := strict(text); err != nil {
		t.Error(err)
	}
	var read dashboard.Dashboard
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if err := read.Validate(); err != nil {
		t.Error(err)
	}
	panels := 0
	for _, r := range rows {
		panels += 1 + len(r.panels)
	}
	if len(read.Panels) != panels {
		t.Errorf("got %d panels and rows, want %d", len(read.Panels), panels)
	}
	for _, field := range []string{"expr", "fillOpacity", "refresh", "gridPos", "includeAll"} {
		if bad := bytes.Replace(text, []byte(`"`+field+`":`), []byte(`"mis`+field+`":`), 1); strict(bad) == nil {
			t.Errorf("a misspelt field %s was taken", field)
		}
	}
}

// strict returns what the SDK's strict decoder finds wrong. The decoder returns an empty list where it
// finds nothing, which is no nil error, and then leaves the panels out; so they are read again.
func strict(text []byte) error {
	var d dashboard.Dashboard
	err := d.UnmarshalJSONStrict(text)
	var found cog.BuildErrors
	if errors.As(err, &found) && len(found) == 0 {
		return nil
	}
	return err
}

// A mistaken call says what to give, and writes nothing.
func TestRunNeedsADirectory(t *testing.T) {
	if err := run(nil); err == nil {
		t.Error("no argument was taken")
	}
	dir := t.TempDir()
	if err := run([]string{dir}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "overview.json")); err != nil {
		t.Error(err)
	}
}
