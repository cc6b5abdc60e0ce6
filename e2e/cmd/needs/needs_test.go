package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ampleMachine returns a machine without missing needs.
func ampleMachine() *machine {
	return &machine{
		folders: []folder{
			{"/cache", "GOCACHE", 4096 * mebi}, {"/modules", "GOMODCACHE", 2048 * mebi}, {"/checkout", "TOWLINE_FLEET_DIR", 512 * mebi},
		},
		hasProgram: func(string, string) bool { return true },
		checkGo:    func() error { return nil },
		free:       func(string) (uint64, uint64, error) { return 1, 100 * 1024 * mebi, nil },
		memory:     func() (uint64, bool) { return 8 * 1024 * mebi, true },
		listen:     func(int) error { return nil },
	}
}

func TestLacks(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(*machine)
		transport string
		want      [][2]string // parts of each lack and of its remedy
	}{
		"no need": {change: func(*machine) {}},
		"git": {
			change: func(m *machine) { m.hasProgram = func(name, _ string) bool { return name != "git" } },
			want:   [][2]string{{"git", "apt-get install git"}},
		},
		"the programs of Maestro": {
			change:    func(m *machine) { m.hasProgram = func(name, _ string) bool { return name == "git" } },
			transport: "maestro",
			want:      [][2]string{{"initdb", "install postgresql"}, {"mosquitto", "install mosquitto"}},
		},
		"the programs of Maestro, on a hub without Maestro": {
			change: func(m *machine) { m.hasProgram = func(name, _ string) bool { return name == "git" } },
		},
		"an old Go": {
			change: func(m *machine) { m.checkGo = func() error { return errors.New("requires go >= 1.26.3") } },
			want:   [][2]string{{"requires go >= 1.26.3", "https://go.dev/dl"}},
		},
		"memory": {
			change: func(m *machine) { m.memory = func() (uint64, bool) { return 1024 * mebi, true } },
			want:   [][2]string{{"4.0 GiB of available memory: 1.0 GiB are available", "end other programs"}},
		},
		"memory without an answer": {
			change: func(m *machine) { m.memory = func() (uint64, bool) { return 0, false } },
		},
		"one disk for all folders": {
			change: func(m *machine) { m.free = func(string) (uint64, uint64, error) { return 1, 5 * 1024 * mebi, nil } },
			want:   [][2]string{{"6.5 GiB of disk space for /cache, /modules, /checkout: 5.0 GiB are free", "GOCACHE, GOMODCACHE, TOWLINE_FLEET_DIR"}},
		},
		"a full disk among two disks": {
			change: func(m *machine) {
				m.free = func(path string) (uint64, uint64, error) {
					if path == "/cache" {
						return 2, 0, nil
					}
					return 1, 5 * 1024 * mebi, nil
				}
			},
			want: [][2]string{{"4.0 GiB of disk space for /cache: 0.0 GiB are free", "another disk: GOCACHE"}},
		},
		"a folder without an answer": {
			change: func(m *machine) {
				m.folders = m.folders[:1]
				m.free = func(string) (uint64, uint64, error) { return 0, 0, errors.New("permission denied") }
			},
			want: [][2]string{{"/cache (permission denied)", "GOCACHE"}},
		},
		"ports": {
			change: func(m *machine) { m.listen = func(int) error { return errors.New("address already in use") } },
			want:   [][2]string{{"ports of 127.0.0.1 from 12000 to 29999 (address already in use)", "ss -ltnp"}},
		},
		"a single free block of ports": {
			change: func(m *machine) {
				m.listen = func(port int) error {
					if port == 29900 {
						return nil
					}
					return errors.New("address already in use")
				}
			},
		},
		"all needs at once": {
			change: func(m *machine) {
				m.hasProgram = func(string, string) bool { return false }
				m.checkGo = func() error { return errors.New("too old") }
				m.memory = func() (uint64, bool) { return 0, true }
				m.free = func(string) (uint64, uint64, error) { return 1, 0, nil }
				m.listen = func(int) error { return errors.New("in use") }
			},
			want: [][2]string{{"git", "git"}, {"too old", "go.dev"}, {"memory", "memory"}, {"disk", "disk"}, {"ports", "ss"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := ampleMachine()
			tc.change(m)
			got := m.lacks(tc.transport)
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			for i, want := range tc.want {
				if !strings.Contains(got[i].lack, want[0]) || !strings.Contains(got[i].remedy, want[1]) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}

// TestThisMachine checks the questions to the system.
func TestThisMachine(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.checkGo(); err != nil {
		t.Error(err)
	}
	here, space, err := m.free(t.TempDir())
	if err != nil || space == 0 {
		t.Errorf("free: %d, %v", space, err)
	}
	if disk, _, err := m.free(filepath.Join(os.TempDir(), "missing", "folder")); err != nil || disk != here {
		t.Errorf("a missing folder is on disk %d, not on %d: %v", disk, here, err)
	}
	if _, err := os.Stat("/proc/meminfo"); err == nil {
		if available, ok := m.memory(); !ok || available == 0 {
			t.Error("no available memory")
		}
	}
	if !m.hasProgram("go", "") || m.hasProgram("keeper-of-works", t.TempDir()) {
		t.Error("hasProgram is wrong")
	}
}

func TestOldGo(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, programsModule())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/new\n\ngo 1.999.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOTOOLCHAIN", "local")
	t.Chdir(root)
	if err := checkGo(); err == nil || !strings.Contains(err.Error(), "1.999.0") {
		t.Errorf("got %v", err)
	}
}
