package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMapIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, err := CreateMap(root, "demo", time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), func() uint32 { return 0xbeef })
	if err != nil {
		t.Fatal(err)
	}
	m := Map{
		Status: Complete, Plan: MapPlan{X: Factor{"cpu", []string{"1ms", "2ms"}}, Y: Factor{"workers", []string{"1"}}},
		Cells: []Cell{
			{X: 0, State: Sampled, CellVerdict: CellVerdict{Decision: Wins, Winner: "pool", Ratio: 0.8}, Visits: 1},
			{X: 1, State: Inferred, CellVerdict: CellVerdict{Decision: Wins, Winner: "pool"}},
		},
	}
	if err := d.WriteMap(&m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"latest", "20261121-120000-map-demo-beef", d.Path(), filepath.Join(d.Path(), "map.json")} {
		_, got, err := OpenMap(name, root)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := m
		want.Dir = got.Dir
		if want.Schema != Schema || want.Name != d.Name() {
			t.Errorf("%s: written as schema %d, name %q", name, want.Schema, want.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (want, got): %s", name, diff)
		}
		if got.At(1, 0).State != Inferred {
			t.Errorf("%s: cell 1, 0 is %+v", name, got.At(1, 0))
		}
	}
}

func TestOpenMapNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if _, _, err := OpenMap("latest", root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no map: got %v", err)
	}
	for text, want := range map[string]string{
		`{"schema": 1, "plan": {"x": {"values": ["1", "2"]}, "y": {"values": ["1"]}}, "cells": []}`:    "0 cells in a grid of 2 by 1; restore the file or run again",
		`{"schema": 1, "plan": {"x": {"values": ["1"]}, "y": {"values": ["1"]}}, "cells": [{"x": 4}]}`: "cell 1 is at 4, 0 of a grid of 1 by 1",
		`{"schema": 1,`:  "corrupt at byte",
		`{"schema": 99}`: "use a newer schedlab",
	} {
		dir := filepath.Join(root, "m")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "map.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := OpenMap("m", root); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
