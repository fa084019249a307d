package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/journal/etcdstore"
)

// UsesEtcd reports whether the journal is in etcd.
func (c Config) UsesEtcd() bool { return len(c.Journal.Etcd.Endpoints) > 0 }

// OpenEtcd returns a client for the etcd of the config. It needs no answer of etcd.
func (c Config) OpenEtcd() (*etcdstore.Client, error) {
	e := c.Journal.Etcd
	return etcdstore.Open(etcdstore.Options{
		Endpoints: e.Endpoints, Prefix: cmp.Or(e.Prefix, "/gitops-agent/"+c.Cluster.Name),
		CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile, Username: e.Username, PasswordFile: e.PasswordFile,
	})
}

// replicaName is the name under which this agent leads.
func (c Config) replicaName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return cmp.Or(c.Journal.Etcd.Name, host)
}

// replicas is how many agents share the journal.
func (c Config) replicas() int {
	if !c.UsesEtcd() {
		return 1
	}
	return cmp.Or(c.Journal.Etcd.Replicas, 2)
}

// ReadJournal calls read with a reader of the agent's journal, wherever the config says it is. It takes no lock and changes nothing.
func (c Config) ReadJournal(ctx context.Context, read func(journal.Reader) error) error {
	if !c.UsesEtcd() {
		return read(journal.InDir(c.JournalDir()))
	}
	client, err := c.OpenEtcd()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	return read(journal.InBlocks(ctx, client.Store(nil)))
}

// JournalState returns the state of the agent's journal, with the errors of journal.Read. Together with journal.ErrRolledBack, it is that of the older copy.
func (c Config) JournalState(ctx context.Context) (journal.State, error) {
	if !c.UsesEtcd() {
		return journal.ReadState(c.JournalDir())
	}
	client, err := c.OpenEtcd()
	if err != nil {
		return journal.State{}, err
	}
	defer func() { _ = client.Close() }()
	return journal.InService(ctx, client.Store(nil), c.JournalDir()).State()
}

// checkEtcd returns what is wrong with the settings of etcd. It does not connect.
func (c Config) checkEtcd() error {
	e := c.Journal.Etcd
	if !c.UsesEtcd() {
		if e.Prefix+e.CAFile+e.CertFile+e.KeyFile+e.Username+e.PasswordFile+e.Name != "" || e.Replicas != 0 {
			return errors.New("journal.etcd: endpoints are missing")
		}
		return nil
	}
	var problems []error
	for _, endpoint := range e.Endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" {
			problems = append(problems, fmt.Errorf("journal.etcd.endpoints: got %q, want an address such as https://10.0.0.11:2379", endpoint))
		}
	}
	if e.Replicas < 0 {
		problems = append(problems, fmt.Errorf("journal.etcd.replicas: got %d, want the number of agents", e.Replicas))
	}
	if longest := etcdstore.Quiet - 5*time.Second; time.Duration(c.Proxmox.Timeout) > longest {
		problems = append(problems, fmt.Errorf("proxmox.timeout: got %s, want at most %s with journal.etcd: a new leader waits only as long for calls of the agent before",
			time.Duration(c.Proxmox.Timeout), longest))
	}
	if (e.CertFile == "") != (e.KeyFile == "") {
		problems = append(problems, errors.New("journal.etcd: cert_file and key_file belong together"))
	}
	if (e.Username == "") != (e.PasswordFile == "") {
		problems = append(problems, errors.New("journal.etcd: username and password_file belong together"))
	}
	for field, file := range map[string]string{"key_file": e.KeyFile, "password_file": e.PasswordFile} {
		if file != "" {
			problems = append(problems, checkPrivate("journal.etcd."+field, file))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	client, err := c.OpenEtcd()
	if err != nil {
		return fmt.Errorf("journal.etcd: %w", err)
	}
	return client.Close()
}
