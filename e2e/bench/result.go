package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Result is what a run has measured.
type Result struct {
	// Started is when the run began, and Seconds how long it took.
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`

	// Machine is where it ran.
	Machine Machine `json:"machine"`

	// Transport is where the works were: empty for the hub's etcd, as in results from before there was another place.
	Transport string `json:"transport,omitempty"`

	// Clusters, Sets and Applications are the sizes.
	Clusters     int `json:"clusters"`
	Sets         int `json:"sets"`
	Applications int `json:"applications"`

	// Reporting is how many of the clusters have reported; 0 for all.
	Reporting int `json:"reporting,omitempty"`

	// BySet and AtOnce are how it was rolled out; see Options.
	BySet  bool `json:"bySet,omitempty"`
	AtOnce bool `json:"atOnce,omitempty"`

	// Figures are by their names; see Figures.
	Figures map[string]float64 `json:"figures"`

	// Delays are distributions in milliseconds: of each, the 0th to the 100th percentile.
	Delays map[string][]float64 `json:"delays"`

	// Phases are what each took.
	Phases []Phase `json:"phases"`
}

// Machine is where a run took place.
type Machine struct {
	CPUs      int     `json:"cpus"`
	Model     string  `json:"model"`
	MemoryGiB float64 `json:"memoryGiB"`

	// Load is the load average before the run: on a machine that does something else, times say little.
	Load float64 `json:"load"`
}

// Phase is what the processes and the API server had to do in a phase.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`

	// CPU is what each process used, in seconds.
	CPU map[string]float64 `json:"cpu"`

	// Memory is what each process takes at the end, in MiB.
	Memory map[string]float64 `json:"memory,omitempty"`

	// Requests are what the API server served, and Bytes the bodies that it was sent, by "<verb> <resource>".
	Requests map[string]float64 `json:"requests"`
	Bytes    map[string]float64 `json:"bytes"`
}

func newResult(o *Options) *Result {
	return &Result{
		Started: time.Now().UTC().Truncate(time.Second), Machine: machine(),
		Transport: o.Transport, Clusters: o.Clusters, Sets: o.Sets, Applications: o.Applications(), Reporting: o.Reporting,
		BySet: o.BySet, AtOnce: o.AtOnce,
		Figures: map[string]float64{}, Delays: map[string][]float64{},
	}
}

func (r *Result) set(name string, value float64) {
	if !isFigure(name) {
		panic("the figure " + name + " is not declared")
	}
	r.Figures[name] = value
}

// processes notes a figure of each process of the hub, under a common name.
func (r *Result) processes(name string, values map[string]float64) {
	for _, process := range hubProcesses {
		if value, ok := values[process]; ok {
			r.set(name+process, value)
		}
	}
}

// delays notes a distribution, given in order.
func (r *Result) delays(name string, sorted []time.Duration) {
	if len(sorted) == 0 {
		return
	}
	percentiles := make([]float64, 101)
	for p := range percentiles {
		percentiles[p] = float64(percentile(sorted, p).Microseconds()) / 1000
	}
	r.Delays[name] = percentiles
	for _, p := range []int{50, 99} {
		r.set(fmt.Sprintf("%s.p%d", name, p), percentiles[p])
	}
	r.set(name+".max", percentiles[100])
}

// percentile is the smallest of some delays, given in order, that as many in a hundred are not above.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[max((len(sorted)*p+99)/100, 1)-1]
}

// note adds what happened in a phase.
func (r *Result) note(name string, before, after *snapshot) {
	d := after.since(before)
	r.Phases = append(r.Phases, Phase{
		Name: name, Seconds: d.seconds(), CPU: d.cpu, Memory: d.memory, Requests: maps.Clone(d.requests), Bytes: maps.Clone(d.written),
	})
	r.Seconds = time.Since(r.Started).Seconds()
}

// Write writes a result as JSON.
func (r *Result) Write(path string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// Read reads results.
func Read(paths ...string) ([]*Result, error) {
	out := make([]*Result, len(paths))
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &out[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return out, nil
}

// machine reads what Linux tells of itself; what it does not tell is left empty.
func machine() Machine {
	m := Machine{CPUs: runtime.NumCPU()}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _ = strconv.ParseFloat(strings.Fields(string(load))[0], 64)
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.Model = after(string(info), "model name")
	}
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		kb, _ := strconv.ParseFloat(strings.TrimSuffix(after(string(info), "MemTotal"), " kB"), 64)
		m.MemoryGiB = float64(int(kb/(1<<20)*10)) / 10
	}
	return m
}

// after is what a file of lines "key: value" says under a key.
func after(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
