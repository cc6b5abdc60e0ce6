package fleet

import (
	"os"
	"testing"
)

func TestBirthFromStat(t *testing.T) {
	tail := " S 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 2 3"
	tests := map[string]struct {
		stat, want string
		wantErr    bool
	}{
		"plain":           {stat: "12 (etcd)" + tail, want: "987654"},
		"spaces and )":    {stat: "12 (a) b (c)" + tail, want: "987654"},
		"zombie":          {stat: "12 (etcd) Z 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654", wantErr: true},
		"cut short":       {stat: "12 (etcd) S 1 2", wantErr: true},
		"empty":           {stat: "", wantErr: true},
		"no parentheses ": {stat: "12 etcd S", wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := birthFromStat(tc.stat)
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestProcessRefKnowsAPIDThatWasUsedAgain(t *testing.T) {
	self, err := refOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !self.Alive() {
		t.Error("this process is not seen alive")
	}
	other := ProcessRef{PID: self.PID, Born: self.Born + "1"}
	if other.Alive() {
		t.Error("another run with the same number is taken for this one")
	}
	if err := other.kill(); err != nil {
		t.Error(err) // a real kill would have ended this test
	}
	if (ProcessRef{}).Alive() || (ProcessRef{PID: self.PID}).Alive() {
		t.Error("an incomplete reference is alive")
	}
}
