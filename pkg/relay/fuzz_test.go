package relay

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzAnnotations checks that a parsed annotation stays equal after String and a second parse, for any content from a
// cluster.
func FuzzAnnotations(f *testing.F) {
	for _, seed := range []string{
		"sent 1-a 7 ab", "sent 1-a 7 ab cd", "failed x 7 - 2026-01-02T03:04:05Z", "delivered terminate/2026-01-02T03:04:05Z 7 -",
		"hard new 2026-01-02T03:04:05Z", "normal x 2026-01-02T03:04:05.5+02:00", "x y 0000-01-01T00:00:00+23:59", "sent",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, annotation string) {
		sent := ParseSent(annotation)
		if again := ParseSent(sent.String()); again != sent {
			t.Errorf("%q reads as %+v, and then as %+v", annotation, sent, again)
		}
		refresh := ParseRefresh(annotation)
		if again := ParseRefresh(refresh.String()); again != refresh {
			t.Errorf("%q reads as %+v, and then as %+v", annotation, refresh, again)
		}
		if late, _ := sent.retry(now); late.ID != sent.ID || late.Version != sent.Version && (sent.State != Failed || late.Version != "") {
			t.Errorf("%+v is tried again as %+v", sent, late)
		}
	})
}

// FuzzIdentities checks that WithID changes only the identity of an operation, and that the digest ignores the
// identity.
func FuzzIdentities(f *testing.F) {
	f.Add([]byte(`{"sync":{"revision":"abc"},"info":[{"name":"reason","value":"because"}]}`), "first")
	f.Add([]byte(`{"info":[{"name":"apps.open-cluster-management.io/request","value":"1-a"}],"retry":{"limit":9007199254740993}}`), "-")
	f.Add([]byte(`{"info":null,"sync":null}`), "a b")
	f.Fuzz(func(t *testing.T, operation []byte, random string) {
		id := newID(now, random)
		with, err := WithID(operation, id)
		if err != nil {
			if Digest(operation) != "" {
				t.Errorf("%q has a digest and cannot have an identity", operation)
			}
			return
		}
		if got := ID(with); got != id && got != "" {
			t.Errorf("%q has the identity %q in place of %q", with, got, id)
		} else if got == "" && random != "" && len(random) <= 64 && strings.Trim(random, "0123456789abcdefghijklmnopqrstuvwxyz-") == "" {
			t.Errorf("%q has lost the identity %q", with, id)
		}
		if Digest(with) != Digest(operation) || Digest(operation) == "" {
			t.Errorf("%q and %q have different digests", operation, with)
		}
		again, err := WithID(with, id)
		if err != nil || !bytes.Equal(again, with) {
			t.Errorf("%q becomes %q, %v", with, again, err)
		}
		unchanged(t, operation, with)
	})
}

// unchanged fails the test if a field other than info differs.
func unchanged(t *testing.T, before, after []byte) {
	t.Helper()
	var was, is map[string]json.RawMessage
	if json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &is) != nil {
		t.Fatalf("%q became %q", before, after)
	}
	delete(was, "info")
	delete(is, "info")
	if len(was) != len(is) {
		t.Errorf("%q became %q", before, after)
	}
	for key, value := range was {
		if compact(t, is[key]) != compact(t, value) {
			t.Errorf("%s was %s and is %s", key, value, is[key])
		}
	}
}

// compact returns the JSON after one more encoding.
func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	out, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// FuzzOperation checks every state of the cluster: an operation is sent only with an identity and for a version without
// a visible operation. An operation leaves the hub only after its arrival on the cluster.
func FuzzOperation(f *testing.F) {
	f.Add("1-first", "1-first", "7", "7", "", "", "delivered", uint8(3))
	f.Add("1-first", "", "7", "", "1-x", "1-x", "", uint8(1))
	f.Add("", "1-first", "8", "7", "1-first", "", "failed", uint8(7))
	f.Fuzz(func(t *testing.T, id, sentID, version, sentVersion, taken, pending, state string, flags uint8) {
		wanted, err := WithID([]byte(`{"sync":{}}`), id)
		if err != nil {
			t.Fatal(err)
		}
		sent := Sent{State: State(state), ID: sentID, Version: sentVersion}
		if flags&4 != 0 {
			sent.Digest = Digest(wanted)
		}
		there := Cluster{Version: version, Taken: taken, Pending: pending, Ready: flags&1 != 0, Busy: flags&2 != 0}
		named := ID(wanted) != ""
		switch nextAction(wanted, sent, there) {
		case actionSend:
			if !named || there.Busy || pending != "" || version == "" || !there.Ready || taken == id || sentID == id && sentVersion == version {
				t.Errorf("%s is sent by %+v to %+v", wanted, sent, there)
			}
		case actionClear:
			here := named && (taken == id || sentID == id && sent.State == Delivered)
			same := !named && there.Busy && taken == sentID && taken != "" && sent.Digest == Digest(wanted)
			if !here && !same {
				t.Errorf("%s is taken off by %+v and %+v", wanted, sent, there)
			}
		case actionStamp:
			if named || there.Busy || pending != "" {
				t.Errorf("%s is given another identity by %+v", wanted, there)
			}
		case actionDrop:
			t.Errorf("%s asks for something", wanted)
		case actionNone:
		}
	})
}
