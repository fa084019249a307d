package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gitops-agent/internal/comment/forgetest"
	"gitops-agent/internal/forge"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
)

// stage is the environment of a script: a simulated cluster over TLS, and in the script's directory
//
//	sigstore/     the Sigstore that sign-as-* sign with, and trusted_root.json
//	forge.git     the remote
//	repo/         the working copy, with the script's own files; alice signs in it
//	token         the token of the simulated cluster
//	config.yaml   the agent's config; signers are alice (change) and olga (approve)
//	$ENDPOINT and $FINGERPRINT are those of the cluster.
//	away.yaml     after "sim switch", the config of a second agent on the same branch, for the cluster away
type stage struct {
	dir       string
	env       []string
	sim       *pvesim.Sim
	other     *pvesim.Sim // the second cluster, nil before "sim switch"
	openOther func() error
	reopen    func(pvesim.Options) (served, error) // the cluster again, empty and with other nodes and storages
	stop      context.CancelFunc                   // of the clusters' servers
	running   sync.WaitGroup
	stopAgent func() // nil before one was started
	forges    map[forge.Kind]*forgetest.Forge
	forge     *forgetest.Forge // that the script uses now
}

type stageKey struct{}

func stageOf(ts *testscript.TestScript) *stage { return ts.Value(stageKey{}).(*stage) }

func newStage(env *testscript.Env) error {
	s := &stage{dir: env.WorkDir, sim: pvesim.New(pvesim.Options{TaskTime: 20 * time.Millisecond, HADelay: 200 * time.Millisecond})}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	env.Defer(s.close)
	env.Values[stageKey{}] = s
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("GIT_CONFIG_GLOBAL", s.path("gitconfig"))
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	env.Setenv("GIT_TERMINAL_PROMPT", "0")
	env.Setenv("NO_COLOR", "1")
	env.Setenv("GOGC", collectorSetting)
	env.Setenv("GORACE", os.Getenv("GORACE"))
	env.Setenv(sigstoreVariable, s.path("sigstore"))
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		return err
	}
	env.Setenv("EXAMPLES", examples)
	s.env = env.Vars
	s.openOther = func() (err error) {
		s.other = pvesim.New(pvesim.Options{TaskTime: 20 * time.Millisecond})
		served, err := s.openCluster(ctx, s.other, "away-token")
		return errors.Join(err, s.writeConfig("away", served))
	}
	s.reopen = func(options pvesim.Options) (served, error) {
		before := s.sim
		env.Defer(before.Close)
		options.TaskTime = 20 * time.Millisecond
		s.sim = pvesim.New(options)
		served, err := s.openCluster(ctx, s.sim, "token")
		return served, errors.Join(err, s.writeConfig("home", served))
	}
	served, err := s.openCluster(ctx, s.sim, "token")
	env.Setenv("ENDPOINT", served.endpoint)
	env.Setenv("FINGERPRINT", served.fingerprint)
	return errors.Join(err, s.openSigstore(), s.openRepository(), s.writeConfig("home", served))
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// served is a cluster that a config can refer to.
type served struct{ endpoint, fingerprint, token string }

// openCluster serves a cluster with the objects that the scripts' manifests refer to, and writes its token.
func (s *stage) openCluster(ctx context.Context, sim *pvesim.Sim, token string) (served, error) {
	_, err := sim.AddTemplate(pvesim.Guest{VMID: 9000, Config: strings.Join([]string{
		"name: tmpl-debian-12", "memory: 1024", "cores: 1", "ostype: l26", "scsihw: virtio-scsi-single", "net0: virtio,bridge=vmbr0",
		"scsi0: local-lvm:vm-9000-disk-0,size=3G", "agent: 1", "",
	}, "\n")})
	if err := errors.Join(err, sim.AddVolume("local:vztmpl/debian-12.tar.zst", 120<<20)); err != nil {
		return served{}, err
	}
	certificate, err := pvesim.NewCertificate()
	if err != nil {
		return served{}, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return served{}, err
	}
	s.running.Go(func() { _ = sim.Serve(ctx, listener, certificate.Config) }) // a script sees when it ends early
	return served{"https://" + listener.Addr().String(), certificate.Fingerprint, token}, s.write(token, sim.Token("gitops@pve!agent")+"\n")
}

func (s *stage) openSigstore() error {
	sigstore, err := sigtest.New(sigtest.Options{CAKey: sigtest.P256})
	if err != nil {
		return err
	}
	return errors.Join(os.Mkdir(s.path("sigstore"), 0o700), sigstore.Save(s.path("sigstore")))
}

func (s *stage) openRepository() error {
	err := s.write("gitconfig", `
[user]
	name = alice
	email = alice@example.org
[init]
	defaultBranch = main
[gpg]
	format = x509
[gpg "x509"]
	program = sign-as-alice
[commit]
	gpgsign = true
[advice]
	detachedHead = false
[maintenance]
	auto = false
[receive]
	autogc = false
`)
	return errors.Join(err,
		newRepository(s.path("forge.git"), "bare = true\n"),
		newRepository(s.path("repo/.git"), fmt.Sprintf("bare = false\n[remote \"origin\"]\n\turl = %s\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", s.path("forge.git"))),
	)
}

// writeConfig writes the config of the agent of a cluster.
func (s *stage) writeConfig(cluster string, on served) error {
	name, state := "config.yaml", "state"
	if cluster != "home" {
		name, state = cluster+".yaml", cluster+"-state"
	}
	return s.write(name, fmt.Sprintf(`cluster: {name: %[4]s}
source:
  remotes: [{url: "file://%[1]s/forge.git"}]
  poll: 100ms
trust:
  trusted_root_file: %[1]s/sigstore/trusted_root.json
  signers:
    - {name: alice, issuer: "https://accounts.test", subject: alice@example.org, may: [change]}
    - {name: olga, issuer: "https://accounts.test", subject: olga@example.org, may: [approve]}
  binding: none
  trust_on_first_use: true
proxmox:
  endpoints: ["%[2]s"]
  token_file: %[1]s/%[5]s
  fingerprints: ["%[3]s"]
  tick: 200ms
  resync: 400ms
state_dir: %[1]s/%[6]s
listen: "127.0.0.1:0"
`, s.dir, on.endpoint, on.fingerprint, cluster, on.token, state))
}

func (s *stage) write(name, text string) error {
	return os.WriteFile(s.path(name), []byte(text), 0o600)
}

func (s *stage) close() {
	s.stop()
	s.running.Wait()
	s.sim.Close()
	if s.other != nil {
		s.other.Close()
	}
}
