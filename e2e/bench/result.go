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

// Result has the measured values of a run.
type Result struct {
	// Started is the start time of the run, and Seconds its duration.
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`

	// Machine describes the machine of the run.
	Machine Machine `json:"machine"`

	// Transport is where the works were. Results from before the transport Maestro have an empty value, for the hub's
	// etcd.
	Transport string `json:"transport,omitempty"`

	// Clusters, Sets and Applications are the sizes of the run.
	Clusters     int `json:"clusters"`
	Sets         int `json:"sets"`
	Applications int `json:"applications"`

	// Reporting is the number of reporting clusters. 0 means all.
	Reporting int `json:"reporting,omitempty"`

	// BySet and AtOnce are as in Options.
	BySet  bool `json:"bySet,omitempty"`
	AtOnce bool `json:"atOnce,omitempty"`

	// Figures are the measured figures by their names. See the variable Figures.
	Figures map[string]float64 `json:"figures"`

	// Delays are distributions in milliseconds: the 0th to the 100th percentile of each.
	Delays map[string][]float64 `json:"delays"`

	// Phases are the costs of each phase.
	Phases []Phase `json:"phases"`
}

// Machine describes the machine of a run.
type Machine struct {
	CPUs      int     `json:"cpus"`
	Model     string  `json:"model"`
	MemoryGiB float64 `json:"memoryGiB"`

	// Load is the load average before the run. On a busy machine, the measured times are not reliable.
	Load float64 `json:"load"`
}

// Phase has the work of the processes and the API server in a phase.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`

	// CPU is the CPU time of each process in seconds.
	CPU map[string]float64 `json:"cpu"`

	// Memory is the memory of each process at the end in MiB.
	Memory map[string]float64 `json:"memory,omitempty"`

	// Requests are the requests to the API server, and Bytes the sizes of their bodies, by "<verb> <resource>".
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

// processes records a figure of each process of the hub, under a common name prefix.
func (r *Result) processes(name string, values map[string]float64) {
	for _, process := range hubProcesses {
		if value, ok := values[process]; ok {
			r.set(name+process, value)
		}
	}
}

// delays records a distribution. The delays must be sorted.
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

// percentile returns the p-th percentile of sorted delays: the smallest delay with at least p percent of the delays not
// above it.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[max((len(sorted)*p+99)/100, 1)-1]
}

// note adds the costs of a phase.
func (r *Result) note(name string, before, after *snapshot) {
	d := after.since(before)
	r.Phases = append(r.Phases, Phase{
		Name: name, Seconds: d.seconds(), CPU: d.cpu, Memory: d.memory, Requests: maps.Clone(d.requests), Bytes: maps.Clone(d.written),
	})
	r.Seconds = time.Since(r.Started).Seconds()
}

// Write writes a result to a file as JSON.
func (r *Result) Write(path string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// Read reads results from files.
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

// machine reads the machine's description from Linux. Unknown fields stay empty.
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

// after returns the value of a key in a text of lines "key: value".
func after(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
