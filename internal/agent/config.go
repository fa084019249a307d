package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/manifest/tree"
)

// Config is the agent's only configuration: a file on the agent's host, never in the repository. The comment of each field is its
// manual and ends with the default. example.yaml in this folder contains the same texts, for copying.
type Config struct {
	file string // that it was read from; "" if it was not read from one

	// Cluster is the cluster that this agent manages. Required.
	Cluster ClusterConfig `yaml:"cluster"`
	// Source is the repository with the commits. Required.
	Source SourceConfig `yaml:"source"`
	// Trust defines whose commits are accepted. Required; no field that decides about trust has a default.
	Trust TrustConfig `yaml:"trust"`
	// Proxmox is the API of the cluster. Required.
	Proxmox ProxmoxConfig `yaml:"proxmox"`
	// StateDir is the directory of the journal and of the fetched repository. The agent locks it while it runs. Default /var/lib/gitops-agent.
	StateDir string `yaml:"state_dir"`
	// Journal defines where the journal is. Default: files in state_dir.
	Journal JournalConfig `yaml:"journal"`
	// SecretsDir is the directory of the passwords that manifests name in passwordFrom, one file each, with mode 0600. Default: none; a
	// guest that needs a password is blocked.
	SecretsDir string `yaml:"secrets_dir"`
	// Secrets decrypt the passwords that are encrypted in the repository.
	Secrets SecretsConfig `yaml:"secrets"`
	// Listen is the address of the status page, /metrics and the probes. "" disables them. Default 127.0.0.1:9746.
	Listen *string `yaml:"listen"`
	// Status defines who may read the status page, /status.json and /metrics.
	Status StatusConfig `yaml:"status"`
	// Parallel is the number of guests that the agent works on at the same time. A guest for which it only waits until a task in Proxmox ends does not count. Default 8.
	Parallel int `yaml:"parallel"`
	// Limits bound the load of that work on the cluster.
	Limits LimitsConfig `yaml:"limits"`
	// Notifications tell people and programs about events of the agent. Default: none.
	Notifications NotificationsConfig `yaml:"notifications"`
	// CommitStatus shows at the forge what became of each revision. Default: not shown.
	CommitStatus CommitStatusConfig `yaml:"commit_status"`
	// Attest states with a key of this agent that the cluster matches a revision, in files to hand over. Default: not stated.
	Attest AttestConfig `yaml:"attest"`
	// Traces tell a collector of OpenTelemetry how a commit became the state of the cluster. Default: not sent.
	Traces TracesConfig `yaml:"traces"`
	// Checks bound what the checks in spec.health of manifests may reach.
	Checks ChecksConfig `yaml:"checks"`
	// Images bound from where nodes may download the files of Images.
	Images ImagesConfig `yaml:"images"`
	// Policies are files, or folders with files, of rules in CEL that hold steps, whatever the repository says. A file contains documents of kind Policy. Default:
	// none.
	Policies []string `yaml:"policies"`
	// ShutdownTimeout is how long the agent may take to end after SIGTERM: it sends nothing any more, waits for the replies to calls that it has sent, and
	// journals them. TimeoutStopSec of a systemd unit must be at least 15 seconds longer. Default 30s.
	ShutdownTimeout Duration `yaml:"shutdown_timeout"`

	sandbox bool // set by InSandbox only
}

// JournalConfig defines where the journal is.
type JournalConfig struct {
	// Etcd keeps the journal in etcd, so that several agents share it: one leads, the others take over if it fails. docs/ha.md describes how to begin.
	// Default: none, the journal is in files and there is one agent.
	Etcd EtcdConfig `yaml:"etcd"`
}

// EtcdConfig is an etcd and how to enter.
type EtcdConfig struct {
	// Endpoints are the addresses of the members, such as https://10.0.0.11:2379. Required to use etcd.
	Endpoints []string `yaml:"endpoints"`
	// Prefix is the beginning of all keys; each cluster needs its own. Default /gitops-agent/ and the name of the cluster.
	Prefix string `yaml:"prefix"`
	// CAFile is a file with the authorities of etcd's certificates. Default: those of the system.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile are the certificate of this agent and its key, if etcd asks for one. Default: none.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// Username and PasswordFile are the user of etcd, if it has users. Default: none.
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"password_file"`
	// Name is the name under which this agent leads. Default: the name of the host.
	Name string `yaml:"name"`
	// Replicas is how many agents share the journal. Only an alert uses it: fewer are ready. Default 2.
	Replicas int `yaml:"replicas"`
}

// SecretsConfig decrypts the passwords that passwordFrom names in files of age and SOPS in the repository.
type SecretsConfig struct {
	// AgeIdentities are the keys, as age-keygen writes them. Default: none; a guest that needs an encrypted password is blocked.
	AgeIdentities []AgeIdentityConfig `yaml:"age_identities"`
}

// AgeIdentityConfig is a file with keys.
type AgeIdentityConfig struct {
	// File contains one key a line, and is readable for the agent alone; it can be a credential of systemd. The agent reads it again when it changes. Required.
	File string `yaml:"file"`
	// Paths are the folders and files of the repository that the keys decrypt. Give signers with limited paths keys of their own: whoever can read the
	// repository can copy an encrypted file. Default: the whole repository.
	Paths []string `yaml:"paths"`
}

// StatusConfig defines who may read the status page, /status.json and /metrics. /healthz and /readyz are always answered, without credentials only with
// "ok" or "not ok".
type StatusConfig struct {
	// WebConfigFile is a file with TLS, client certificates, users with bcrypt hashes, and headers, as --web.config.file of Prometheus' exporters. The agent
	// reads it again when it changes. Default: none, http without users.
	WebConfigFile string `yaml:"web_config_file"`
	// TokenFile is a file with a token. A request with "Authorization: Bearer <token>" needs no user. Default: none.
	TokenFile string `yaml:"token_file"`
	// Hosts are the names, without ports, that requests may use for this host, in addition to localhost. If listen is not a loopback address, addresses are
	// accepted too. Default: none.
	Hosts []string `yaml:"hosts"`
	// Path is the path below which a reverse proxy publishes the status page. Default /.
	Path string `yaml:"path"`
	// Unauthenticated permits a listen address other than loopback without users, token and client certificates: everyone who reaches it can read the
	// status. Default false.
	Unauthenticated bool `yaml:"unauthenticated"`
	// Links are addresses to which the status page leads, where they do not follow from the remote and the endpoint in use.
	Links LinksConfig `yaml:"links"`
}

// LinksConfig contains addresses to which the status page leads.
type LinksConfig struct {
	// Commit is the address of a commit at the forge, with {commit} in place of its id. Default: it follows from the remote in use.
	Commit string `yaml:"commit"`
	// Proxmox is the address of the web interface of Proxmox, such as https://pve.example.org. Default: the endpoint in use.
	Proxmox string `yaml:"proxmox"`
	// Runbook is the address of the page docs/operations.md in your copy of the repository of gitops-agent. Default: none, no links.
	Runbook string `yaml:"runbook"`
}

// problems returns what is wrong with the addresses.
func (l LinksConfig) problems() []error {
	var problems []error
	for _, link := range []struct{ name, address string }{{"commit", l.Commit}, {"proxmox", l.Proxmox}, {"runbook", l.Runbook}} {
		u, err := url.Parse(strings.ReplaceAll(link.address, "{commit}", "0"))
		if link.address != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
			problems = append(problems, fmt.Errorf("status.links.%s: got %q, want an address such as https://host/path", link.name, link.address))
		}
	}
	if l.Commit != "" && !strings.Contains(l.Commit, "{commit}") {
		problems = append(problems, fmt.Errorf("status.links.commit: got %q, want {commit} in place of the id", l.Commit))
	}
	return problems
}

// ChecksConfig bounds the checks that manifests ask for.
type ChecksConfig struct {
	// Allow lists the addresses that checks may reach, as addresses or networks with or without a port: 10.0.0.0/24, 10.0.0.5:5432, [fd00::/8]:443.
	// Default: none.
	Allow []string `yaml:"allow"`
	// CAFile is a file with certificates of authorities that are trusted for https pages in addition to those of the system. Default: none.
	CAFile string `yaml:"ca_file"`
}

// ImagesConfig bounds what manifests of the kind Image can let nodes download.
type ImagesConfig struct {
	// Allow lists the servers, with a port unless it is that of the protocol: cloud.debian.org, 10.0.0.5:8080, or *.example.org for all names below a domain.
	// Default: none.
	Allow []string `yaml:"allow"`
}

// AllowedServer returns the function that reports whether nodes may download from a server.
func (c *Config) AllowedServer() func(server string) bool {
	servers, _ := image.ParseServers(c.Images.Allow) // a config with another entry is refused
	return servers.Allow
}

// LimitsConfig bounds the work on nodes and storages, which guests share.
type LimitsConfig struct {
	// GuestsPerNode is the number of guests of one node that the agent works on at the same time. Default 4.
	GuestsPerNode int `yaml:"guests_per_node"`
	// CopiesPerStorage is the number of clones, imports, restores and moves that write to one storage at the same time. Proxmox locks a
	// storage while it allocates volumes. Default 2.
	CopiesPerStorage int `yaml:"copies_per_storage"`
	// TaskTime is how long tasks of Proxmox may run until the agent works on other guests and reports the task. It aborts no task.
	TaskTime TaskTimeConfig `yaml:"task_time"`
}

// TaskTimeConfig bounds the time that the agent waits for tasks.
type TaskTimeConfig struct {
	// Copies is the time of clones, imports, restores, migrations and moves of disks. Default 12h.
	Copies Duration `yaml:"copies"`
	// Allocates is the time of resizes, conversions to templates and destroys. Default 1h.
	Allocates Duration `yaml:"allocates"`
	// Others is the time of changes of the configuration, and of starts, reboots, shutdowns and stops; the time that a guest has to shut down is
	// added. Default 15m.
	Others Duration `yaml:"others"`
}

func (c TaskTimeConfig) times() cluster.TaskTimes {
	return cluster.TaskTimes{Copies: time.Duration(c.Copies), Allocates: time.Duration(c.Allocates), Others: time.Duration(c.Others)}
}

// ClusterConfig names the cluster.
type ClusterConfig struct {
	// Name must be the metadata.name of the repository's Cluster manifest. Required.
	Name string `yaml:"name"`
}

// SourceConfig describes the repository with the commits.
type SourceConfig struct {
	// Branch is the only branch that the agent reads. Default main.
	Branch string `yaml:"branch"`
	// Paths are the folders and files with this cluster's manifests. Default: the whole tree.
	Paths []string `yaml:"paths"`
	// Remotes are copies of the same branch. If a remote fails or does not answer within 2 seconds, the agent also asks the next one. A copy that is older than
	// what another remote served is not used. At least one is required.
	Remotes []RemoteConfig `yaml:"remotes"`
	// Poll is the time between polls of the remote; the agent adds jitter. Default 30s.
	Poll Duration `yaml:"poll"`
	// Timeout is the upper bound of one fetch from one remote. Default 2m.
	Timeout Duration `yaml:"timeout"`
	// WebhookTokenFile is a file with a secret. A POST to /webhook with "Authorization: Bearer <secret>" requests a poll now. Default: no
	// webhook.
	WebhookTokenFile string `yaml:"webhook_token_file"`
	// Webhooks are webhooks that forges send, each on a path of its own: /webhook/github, /webhook/gitea, /webhook/gitlab, /webhook/bitbucket. They request a
	// poll now. Default: none.
	Webhooks []WebhookConfig `yaml:"webhooks"`
}

// WebhookConfig is a webhook that a forge sends.
type WebhookConfig struct {
	// Forge is github, gitea (also for Forgejo), gitlab or bitbucket. Required.
	Forge string `yaml:"forge"`
	// SecretFile is a file with the secret that is set at the forge. The agent reads it at each request. Two entries of one forge, with two secrets, are
	// both accepted while a secret is replaced. Required.
	SecretFile string `yaml:"secret_file"`
}

// RemoteConfig is one remote.
type RemoteConfig struct {
	// URL is https://…, ssh://user@host/…, user@host:path, or file:///path. It must not contain credentials. Required.
	URL string `yaml:"url"`
	// Username is the user for https. Default x-access-token, which GitHub expects; GitLab expects oauth2.
	Username string `yaml:"username"`
	// TokenFile is a file with the token for https. Default: none.
	TokenFile string `yaml:"token_file"`
	// SSHKeyFile is a file with the private key for ssh. Required for ssh.
	SSHKeyFile string `yaml:"ssh_key_file"`
	// KnownHostsFile is a file with the host keys for ssh. Required for ssh.
	KnownHostsFile string `yaml:"known_hosts_file"`
	// CAFile is a file with certificates that are trusted for https in addition to those of the system. Default: none.
	CAFile string `yaml:"ca_file"`
}

// TrustConfig defines whose commits are accepted.
type TrustConfig struct {
	// TrustedRootFile is a Sigstore trusted_root.json that you obtained yourself. The agent reads it again when it changes. If the new
	// content is not valid, the previous trusted root stays in force. Required.
	TrustedRootFile string `yaml:"trusted_root_file"`
	// TUF is a source of newer trusted roots. Default: none, only the file.
	TUF TUFConfig `yaml:"tuf"`
	// Signers are the identities that may sign. At least one is required.
	Signers []SignerConfig `yaml:"signers"`
	// Binding defines how a commit names this cluster and branch, because a signature alone does not: trailer (the message of the newest
	// commit ends with "Gitops-Target: <cluster>/<branch>", one line for each cluster that shares the branch), certificate (signers are
	// workflows whose certificates name repository and ref), or none (any branch with signed commits could be used as this one). Required.
	Binding string `yaml:"binding"`
	// History is the part of the history that must be signed: first-parent, tip or all. Default first-parent.
	History string `yaml:"history"`
	// Anchor is the full id of a commit that you reviewed. Every accepted revision must descend from it. Required, unless
	// trust_on_first_use is true.
	Anchor string `yaml:"anchor"`
	// TrustOnFirstUse accepts the first signed head of the branch as the anchor. Default false.
	TrustOnFirstUse bool `yaml:"trust_on_first_use"`
	// NotBefore refuses commits whose proven signing time is earlier. Default: none.
	NotBefore time.Time `yaml:"not_before"`
	// Timestamps defines whether a signature needs an RFC 3161 timestamp in addition to the log entry: optional or required. Default
	// optional.
	Timestamps string `yaml:"timestamps"`
	// RekorURL is a Rekor v1 log with a search index that the agent asks about commits that gitsign signed in its online mode, if neither the repository nor
	// the notes of the remote have evidence about them. Each lookup tells the log the id of a commit, also of a private repository. Default: none is asked.
	RekorURL string `yaml:"rekor_url"`
	// RekorCAFile is a file with certificates that are trusted for that log in addition to those of the system. Default: none.
	RekorCAFile string `yaml:"rekor_ca_file"`
	// Deny refuses signatures that were made by mistake or with a stolen identity. Default: none.
	Deny DenyConfig `yaml:"deny"`
	// Guards are rules about the guards of manifests that no commit and no approval changes. Default: none.
	Guards GuardsConfig `yaml:"guards"`
	// Promotion accepts a tree only if another cluster, such as staging, has matched it. Default: none.
	Promotion PromotionConfig `yaml:"promotion"`
}

// GuardsConfig bounds the guards of manifests.
type GuardsConfig struct {
	// Approvals is the smallest number of people who must approve a held step, whatever guards.approvals of the Cluster says. Default: no bound.
	Approvals int `yaml:"approvals"`
	// MaxDestroysPerDay is the largest number of destroys in 24 hours, whatever guards.maxDestroysPerDay of the Cluster says. Default: no bound.
	MaxDestroysPerDay *int `yaml:"max_destroys_per_day"`
	// Destroy is the strongest permission that lifecycle.destroy can give: deny or approve. Default: no bound.
	Destroy string `yaml:"destroy"`
	// Recreate is the strongest permission that lifecycle.recreate can give: deny or approve. Default: no bound.
	Recreate string `yaml:"recreate"`
	// RebootPolicy is the strongest permission that lifecycle.rebootPolicy can give: never or approve. Default: no bound.
	RebootPolicy string `yaml:"reboot_policy"`
	// SeparateApprover is whether a held step needs approvals of people who did not introduce it: who wrote the fields that the step changes, or
	// removed the manifest. Default false: their own approval counts.
	SeparateApprover bool `yaml:"separateApprover"`
}

// TUFConfig configures a TUF repository with newer trusted roots. A refresh accepts only what the keys of the repository sign. A refresh
// that fails, or whose metadata is expired or rolled back, changes nothing and does not interrupt verification.
type TUFConfig struct {
	// URL is a TUF repository whose target trusted_root.json replaces the trusted root file, until the file is changed.
	// Default: none, only the file.
	URL string `yaml:"url"`
	// RootFile is a root.json of that repository that you obtained yourself; newer versions are verified from it. Required with url.
	RootFile string `yaml:"root_file"`
	// Interval is the time between refreshes. Default 24h.
	Interval Duration `yaml:"interval"`
}

// SignerConfig is an identity, and the changes that it may sign.
type SignerConfig struct {
	// Name is the person or workflow behind the identity. Approvals count people by name, so all identities of one person have the same name.
	// Required.
	Name string `yaml:"name"`
	// Issuer is the exact OpenID Connect issuer. Required.
	Issuer string `yaml:"issuer"`
	// Subject is the exact mail address or workflow URI in the certificate. Exactly one of subject and subject_regexp is required.
	Subject string `yaml:"subject"`
	// SubjectRegexp is a regular expression that must match the whole subject.
	SubjectRegexp string `yaml:"subject_regexp"`
	// Extensions are exact values that the certificate of a workflow must contain. Default: none.
	Extensions ExtensionsConfig `yaml:"extensions"`
	// May lists the roles: change (files), approve (held steps), operate (one-shot operations, such as a restart or a snapshot), seal
	// (ancestors). Required.
	May []string `yaml:"may"`
	// Paths are the only paths that the signer may change, or give orders and approvals for. Default: the whole source.
	Paths []string `yaml:"paths"`
	// Guests are the only guests that the signer may change, or give orders and approvals for, as kind/name or as patterns of path.Match. Default: all guests.
	Guests []string `yaml:"guests"`
	// VMIDs are guests that the source did not create and that a signer with guests may touch nevertheless, as vmids or ranges: to adopt them, to
	// have their vmid in a manifest, to attach their volumes, and to copy or restore them. Default: none.
	VMIDs []string `yaml:"vmids"`
	// Sources are the only sources from which a signer with guests may create guests: vmids or ranges, templates as kind/name, volumes as
	// storage:path, paths of the host, all but the first two as patterns of path.Match. Default: every template and every image, and no path.
	Sources []string `yaml:"sources"`
	// From (inclusive) and Until (exclusive) bound the proven time of the signer's signatures. Default: no bounds.
	From  time.Time `yaml:"from"`
	Until time.Time `yaml:"until"`
}

// ExtensionsConfig contains the certificate extensions that a signer can require.
type ExtensionsConfig struct {
	BuildSignerURI                  string `yaml:"build_signer_uri"`
	RunnerEnvironment               string `yaml:"runner_environment"`
	SourceRepositoryURI             string `yaml:"source_repository_uri"`
	SourceRepositoryRef             string `yaml:"source_repository_ref"`
	SourceRepositoryIdentifier      string `yaml:"source_repository_identifier"`
	SourceRepositoryOwnerURI        string `yaml:"source_repository_owner_uri"`
	SourceRepositoryOwnerIdentifier string `yaml:"source_repository_owner_identifier"`
	BuildConfigURI                  string `yaml:"build_config_uri"`
	BuildTrigger                    string `yaml:"build_trigger"`
}

// DenyConfig lists signed objects that are refused.
type DenyConfig struct {
	// Commits are full commit ids.
	Commits []string `yaml:"commits"`
	// Payloads are SHA-256 digests of what a signature covers, in hex, as verify shows them. Unlike an id, a payload denies a commit in every form in which its
	// signature can be written.
	Payloads []string `yaml:"payloads"`
	// Certificates are SHA-256 fingerprints of signing certificates, in hex.
	Certificates []string `yaml:"certificates"`
	// LogIndexes are indexes of entries in the transparency log.
	LogIndexes []int64 `yaml:"log_indexes"`
}

// ProxmoxConfig is the API of the cluster.
type ProxmoxConfig struct {
	// Endpoints are members of the cluster, as https://host:8006; http is refused for every host. A read that one member does not answer with a valid reply within
	// 3 seconds is also sent to the next one, a write only if no connection was made. A member that fails is used again after it has answered three probes. At
	// least one is required.
	Endpoints []string `yaml:"endpoints"`
	// TokenFile is a file with one line, user@realm!name=secret, that other users cannot read. Required.
	TokenFile string `yaml:"token_file"`
	// TokenExpires is when the token expires, as it was created in Proxmox, for the metrics: Proxmox does not let a token read its own expiry.
	// Default: not known.
	TokenExpires time.Time `yaml:"token_expires"`
	// CAFile is a file with the cluster's certificate authority, /etc/pve/pve-root-ca.pem on a node. Default: the authorities of the system.
	CAFile string `yaml:"ca_file"`
	// Fingerprints are SHA-256 fingerprints of the endpoints' certificates, as Proxmox shows them. Default: none.
	Fingerprints []string `yaml:"fingerprints"`
	// Timeout is the upper bound of one request. Default 35s, because Proxmox itself stops after 30s.
	Timeout Duration `yaml:"timeout"`
	// Tick is the time between two reads of the inventory. Default 15s.
	Tick Duration `yaml:"tick"`
	// Resync is the time within which the agent reads every guest in full. Default 60s.
	Resync Duration `yaml:"resync"`
	// VMListFile is /etc/pve/.vmlist, for an agent that runs on a node of the cluster as root or in the group www-data. The file is Proxmox's
	// own list of guests. It contains a version for each guest, which increases with every change. The agent reads a guest about one
	// second after its version changed, and the other guests within vmlist_check instead of resync. While the file cannot be read or is
	// out of date, the agent reads every guest within resync, as without the file, and reports the problem. Default: none.
	VMListFile string `yaml:"vmlist_file"`
	// VMListCheck is the time within which the agent reads every guest in full, although its version did not change. Default 10 times resync.
	VMListCheck Duration `yaml:"vmlist_check"`
	// SelfVMID is the vmid of the guest in which the agent runs. A step that would stop, restart, move or destroy this guest is held. Default: the guest
	// is detected by its SMBIOS uuid, which only root can read, or by its network addresses.
	SelfVMID int `yaml:"self_vmid"`
}

// Duration is a time.Duration that is written as "30s" in YAML.
type Duration time.Duration

// UnmarshalYAML reads a positive duration with a unit.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if err != nil || parsed <= 0 {
		// The decoder collects errors of this type, so that one problem does not hide the others.
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: got %q, want a duration such as 30s or 2m", node.Line, node.Value)}}
	}
	*d = Duration(parsed)
	return nil
}

// maxConfig is the upper bound of the config file, in bytes.
const maxConfig = 1 << 20

// ReadConfig reads and checks a config file. Unknown fields are errors. The error contains every problem.
func ReadConfig(path string) (Config, error) {
	file, err := os.Open(path) //nolint:gosec // the operator chooses the path
	if err != nil {
		return Config{}, fmt.Errorf("open config: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return Config{}, fmt.Errorf("read config %s: %w", path, err)
	}
	if len(data) > maxConfig {
		return Config{}, fmt.Errorf("config %s is larger than 1 MiB, want at most 1 MiB", path)
	}
	config, err := ParseConfig(data)
	if err != nil {
		return Config{}, fmt.Errorf("config %s: %w", path, err)
	}
	config.file = path
	return config, nil
}

// ParseConfig parses and checks a config. The error contains every problem, with its line if there is one.
func ParseConfig(data []byte) (Config, error) {
	var c Config
	if err := tree.CheckVisible(data); err != nil {
		return Config{}, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, withoutGoTypes(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("more than one document: want one YAML document, without a line ---")
	}
	c.setDefaults()
	if err := c.check(); err != nil {
		return Config{}, err
	}
	return c, nil
}

var (
	unknownField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^line (\d+): field (\S+) not found in type \S+$`) })
	wrongShape   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^line (\d+): cannot unmarshal !!(\w+)(.*) into \S+$`)
	})
)

// withoutGoTypes returns the errors of the decoder without names of Go types.
func withoutGoTypes(err error) error {
	var several *yaml.TypeError
	if !errors.As(err, &several) {
		return err
	}
	var problems []error
	for _, text := range several.Errors {
		text = unknownField().ReplaceAllString(text, `line $1: unknown field "$2": remove it, or correct its name or its indentation`)
		problems = append(problems, errors.New(wrongShape().ReplaceAllString(text, `line $1: a value of type $2$3 is not possible here, see gitops-agent config example`)))
	}
	return errors.Join(problems...)
}

func (c *Config) setDefaults() {
	if c.Source.Branch == "" {
		c.Source.Branch = "main"
	}
	if c.StateDir == "" {
		c.StateDir = "/var/lib/gitops-agent"
	}
	if c.Listen == nil {
		address := "127.0.0.1:9746"
		c.Listen = &address
	}
}

// check returns every missing or negative setting. verify.NewPolicy checks the other settings of trust, with the trusted root.
func (c *Config) check() error {
	var problems []error
	refuse := func(wrong bool, text string) {
		if wrong {
			problems = append(problems, errors.New(text))
		}
	}
	refuse(c.Cluster.Name == "", "cluster.name is required: the metadata.name of the repository's Cluster manifest")
	refuse(len(c.Source.Remotes) == 0, "source.remotes is required: at least one remote with a url")
	refuse(c.Trust.TrustedRootFile == "", "trust.trusted_root_file is required: a Sigstore trusted_root.json that you obtained yourself")
	for i, s := range c.Trust.Signers {
		refuse(s.Name == "", fmt.Sprintf("trust.signers[%d].name is required: the person or workflow that signs as %s; approvals count people by name, "+
			"so all entries of one person have the same name", i, s.Subject+s.SubjectRegexp))
	}
	refuse(len(c.Proxmox.Endpoints) == 0, "proxmox.endpoints is required: https://host:8006 of at least one node")
	refuse(c.Proxmox.TokenFile == "", "proxmox.token_file is required: a file with one line, user@realm!name=secret")
	if _, err := health.ParseAllow(c.Checks.Allow); err != nil {
		refuse(true, "checks.allow: "+err.Error())
	}
	if _, err := image.ParseServers(c.Images.Allow); err != nil {
		refuse(true, "images.allow: "+err.Error())
	}
	refuse(strings.ContainsAny(c.Status.Path, " ?#%{}") || strings.Contains(c.Status.Path, "//"),
		fmt.Sprintf("status.path: got %q, want a path such as /gitops", c.Status.Path))
	problems = append(problems, c.Status.Links.problems()...)
	refuse(c.Proxmox.SelfVMID != 0 && c.Proxmox.SelfVMID < 100,
		fmt.Sprintf("proxmox.self_vmid: got %d, want the vmid of the guest in which the agent runs, 100 or more", c.Proxmox.SelfVMID))
	refuse(c.Parallel < 0, fmt.Sprintf("parallel must be positive: got %d, want 1 or more, or remove the line for the default 8", c.Parallel))
	refuse(c.Limits.GuestsPerNode < 0, fmt.Sprintf("limits.guests_per_node must be positive: got %d, want 1 or more, or remove the line for the default 4", c.Limits.GuestsPerNode))
	refuse(c.Limits.CopiesPerStorage < 0, fmt.Sprintf("limits.copies_per_storage must be positive: got %d, want 1 or more, or remove the line for the default 2", c.Limits.CopiesPerStorage))
	return errors.Join(append(problems, c.checkEncrypted(), c.checkWebhooks(), second(c.notificationSettings()), second(c.commitForge()), second(c.traceSettings()), c.Attest.check(), c.Trust.TUF.check(), c.Trust.checkLog(), c.Trust.Guards.check(), c.Trust.Promotion.check(c.Cluster.Name))...)
}

// check returns every problem of c.
func (c TUFConfig) check() error {
	if c.URL == "" && c.RootFile == "" {
		return nil
	}
	var problems []error
	if (c.URL == "") != (c.RootFile == "") {
		problems = append(problems, errors.New("trust.tuf: url and root_file are required together: the address of the repository, and the root.json that verifies it"))
	}
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		problems = append(problems, errors.New("trust.tuf.url: want https://host/path or http://host/path"))
	} else if c.URL != "" && u.User != nil {
		problems = append(problems, errors.New("trust.tuf.url must not contain credentials"))
	}
	return errors.Join(problems...)
}
