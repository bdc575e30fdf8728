package record_test

import (
	"encoding/json"
	"testing"

	"schedlab/internal/shared/record"
)

// What clients speak is one text in a record, and comes back as it was.
func TestSpeaksAsText(t *testing.T) {
	t.Parallel()
	for text, s := range map[string]record.Speaks{
		`{}`:                        {},
		`{"speaks":"http=2"}`:       {HTTP2: true},
		`{"speaks":"tls=insecure"}`: {TLS: record.TrustAny},
		`{"speaks":"http=2 tls='my ca.pem' cert=c.pem key=k.pem host=api.example.com streams=7"}`: {
			HTTP2: true, TLS: "my ca.pem", Cert: "c.pem", Key: "k.pem", Host: "api.example.com", Streams: 7,
		},
	} {
		got, err := json.Marshal(record.Clients{Speaks: s})
		if err != nil || string(got) != text {
			t.Errorf("%+v: got %s and %v, want %s", s, got, err, text)
		}
		var back record.Clients
		if err := json.Unmarshal([]byte(text), &back); err != nil || back.Speaks != s {
			t.Errorf("%s: got %+v and %v", text, back.Speaks, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"speaks":"quic=1"}`), new(record.Clients)); err == nil {
		t.Error("an unknown setting is read without an error")
	}
}
