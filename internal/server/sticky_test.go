package server

import (
	"log/slog"
	"strings"
	"testing"

	"schedlab/internal/model"
)

// A mode whose workers keep their connections says at the start how many
// keep-alive clients it can serve; no other mode does.
func TestStickyModesWarn(t *testing.T) {
	t.Parallel()
	for _, mode := range model.Modes() {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			var log syncBuffer
			cfg := testConfig(mode.Name)
			cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			if mode.Has("workers") {
				cfg.Workers = 3
			}
			s := run(t, cfg)
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			const warning = "of more than 3 keep-alive clients the rest starve until the idle timeout (30s)"
			if warned := strings.Contains(log.String(), warning); warned != mode.Sticky {
				t.Errorf("got a warning: %v, want %v:\n%s", warned, mode.Sticky, log.String())
			}
		})
	}
}
