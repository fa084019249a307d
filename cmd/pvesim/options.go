package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/pvesim/control"
)

// errUsage means that the command line is wrong. The reason has already been printed.
var errUsage = errors.New("wrong usage")

type options struct {
	listen, control                        string
	plain                                  bool
	guests                                 int
	seed                                   uint64
	nodes, release                         string
	latency                                string
	taskTime, period, cache, authDelay     time.Duration
	haDelay                                time.Duration
	token                                  string
	tokenOut, certOut, addrOut, controlOut string
	vmlist                                 string
}

const usage = `pvesim serves a simulated Proxmox VE API over TLS with a certificate made at start.

Usage: pvesim [flags]

It prints the address, an API token, the certificate's fingerprint, and the address of the control endpoint:
` + control.Usage + `
Flags:
`

func parseFlags(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("pvesim", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, usage)
		fs.PrintDefaults()
	}
	fs.StringVar(&o.listen, "listen", "127.0.0.1:8006", "`address` of the API; port 0 chooses a free port")
	fs.StringVar(&o.control, "control", "127.0.0.1:0", "`address` of the control endpoint")
	fs.BoolVar(&o.plain, "http", false, "serve the API without TLS")
	fs.IntVar(&o.guests, "guests", 0, "`number` of generated guests, from vmid 1000 on; 9000 to 9999 are left out")
	fs.Uint64Var(&o.seed, "seed", 0, "`number` from which everything generated is derived")
	fs.StringVar(&o.nodes, "nodes", "pve1", "node `names`, separated by commas")
	fs.StringVar(&o.release, "pve-version", "", "`version` to simulate, such as 8.4.14; default 9.2.11")
	fs.StringVar(&o.latency, "latency", "0s", "`time` added to every call, or \"recorded\" for what each call took on a real node")
	fs.DurationVar(&o.taskTime, "task-time", 50*time.Millisecond, "`time` that a task takes")
	fs.DurationVar(&o.period, "resources-period", 0, "how old /cluster/resources may be; a real cluster has 10s")
	fs.DurationVar(&o.cache, "resources-cache", 0, "how long each of three front workers keeps /cluster/resources; a real cluster has 2s")
	fs.DurationVar(&o.haDelay, "ha-delay", 0, "`time` until the HA manager acts; default 10s, as on a real cluster")
	fs.DurationVar(&o.authDelay, "unauthorized-delay", 0, "`time` before a 401; a real node waits 3s")
	fs.StringVar(&o.token, "token", "gitops@pve!agent", "`name` of the token to print: gitops@pve!agent, gitops@pve!ro or root@pam!full")
	fs.StringVar(&o.tokenOut, "token-out", "", "write the token to this `file`")
	fs.StringVar(&o.certOut, "cert-out", "", "write the certificate (PEM) to this `file`")
	fs.StringVar(&o.addrOut, "addr-out", "", "write the API's URL to this `file`, after all others")
	fs.StringVar(&o.vmlist, "vmlist", "", "keep this `file` like /etc/pve/.vmlist, with a version per guest")
	fs.StringVar(&o.controlOut, "control-out", "", "write the control endpoint's URL to this `file`")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errUsage
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(stderr, "pvesim: error: got argument %q, want flags only\n", fs.Arg(0))
		return nil, errUsage
	}
	if _, err := time.ParseDuration(o.latency); err != nil && o.latency != recordedLatency {
		fmt.Fprintf(stderr, "pvesim: error: latency: got %q, want a duration or %q\n", o.latency, recordedLatency)
		return nil, errUsage
	}
	return o, nil
}

func (o *options) simulator() pvesim.Options {
	taskTime := o.taskTime
	if taskTime <= 0 {
		taskTime = time.Nanosecond // zero means the default
	}
	opts := pvesim.Options{
		Nodes: strings.Split(o.nodes, ","), Guests: o.guests, Seed: o.seed, TaskTime: taskTime, Version: o.release,
		ResourcesPeriod: o.period, ResourcesCache: o.cache, VMListFile: o.vmlist, UnauthorizedDelay: o.authDelay, HADelay: o.haDelay,
	}
	if o.latency == recordedLatency {
		opts.Latencies = pvesim.RecordedLatencies()
		return opts
	}
	if d, err := time.ParseDuration(o.latency); err == nil { // parseFlags has checked the text
		opts.Latency = d
	}
	return opts
}

// recordedLatency selects the recorded durations of calls on a real node.
const recordedLatency = "recorded"

// addVolumes adds an ISO image, an import image, a container template and a VM template, from which clients can create guests.
func (o *options) addVolumes(sim *pvesim.Sim) error {
	for id, size := range map[string]int64{
		"local:iso/debian-12.iso": 700 << 20, "local:import/debian-12-genericcloud-amd64.qcow2": 3 << 30,
		"local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst": 130 << 20,
	} {
		if err := sim.AddVolume(id, size); err != nil {
			return err
		}
	}
	_, err := sim.AddTemplate(pvesim.Guest{
		VMID: 9000, Config: "name: tmpl-debian-12\nmemory: 1024\nostype: l26\nscsihw: virtio-scsi-single\nagent: 1\nscsi0: local-lvm:3\n" +
			"ide2: local-lvm:cloudinit\nnet0: virtio,bridge=vmbr0\n",
	})
	return err
}

func (o *options) certificate() (*pvesim.Certificate, error) {
	if o.plain {
		return &pvesim.Certificate{}, nil
	}
	return pvesim.NewCertificate()
}
