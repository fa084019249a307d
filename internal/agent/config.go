package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"gopkg.in/yaml.v3"
)

// Config is the agent's only configuration, a file that belongs to its host and never to the repository. The comment of each
// field is its manual and ends in its default; example.yaml beside this file is the same for copying.
type Config struct {
	// Cluster is what this agent keeps. Required.
	Cluster ClusterConfig `yaml:"cluster"`
	// Source is where the commits come from. Required.
	Source SourceConfig `yaml:"source"`
	// Trust says whose commits count. Required; nothing in it that decides about trust has a default.
	Trust TrustConfig `yaml:"trust"`
	// Proxmox is the API to keep the cluster by. Required.
	Proxmox ProxmoxConfig `yaml:"proxmox"`
	// StateDir holds the journal and the fetched repository. It is locked while the agent runs. Default /var/lib/gitops-agent.
	StateDir string `yaml:"state_dir"`
	// SecretsDir holds the passwords that manifests name by passwordFrom, one file each, of mode 0600. Default: none, and a guest that
	// needs one is blocked.
	SecretsDir string `yaml:"secrets_dir"`
	// Listen is the address of the status page, /metrics and the probes. "" listens nowhere. Default 127.0.0.1:9746.
	Listen *string `yaml:"listen"`
	// Parallel is how many guests are worked on at once. Default 8.
	Parallel int `yaml:"parallel"`
	// Limits bound what that work puts on the cluster at once.
	Limits LimitsConfig `yaml:"limits"`
}

// LimitsConfig bounds work on what guests share.
type LimitsConfig struct {
	// GuestsPerNode is how many guests of one node are worked on at once. Default 4.
	GuestsPerNode int `yaml:"guests_per_node"`
	// CopiesPerStorage is how many clones, imports, restores and moves write to one storage at once; Proxmox locks a storage while it
	// allocates. Default 2.
	CopiesPerStorage int `yaml:"copies_per_storage"`
}

// ClusterConfig names the cluster.
type ClusterConfig struct {
	// Name is the name that the repository's Cluster manifest must bear. Required.
	Name string `yaml:"name"`
}

// SourceConfig says where the commits come from.
type SourceConfig struct {
	// Branch is the only branch that is read. Default main.
	Branch string `yaml:"branch"`
	// Paths are the folders and files with this cluster's manifests. Default: the whole tree.
	Paths []string `yaml:"paths"`
	// Remotes serve the same branch; a later one is asked when an earlier one does not answer. At least one.
	Remotes []RemoteConfig `yaml:"remotes"`
	// Poll is the time between looks at the remote, with jitter. Default 30s.
	Poll Duration `yaml:"poll"`
	// Timeout bounds one fetch from one remote. Default 2m.
	Timeout Duration `yaml:"timeout"`
	// WebhookTokenFile holds a secret; a POST to /webhook that bears it ("Authorization: Bearer …") asks for a poll now. Default: no webhook.
	WebhookTokenFile string `yaml:"webhook_token_file"`
}

// RemoteConfig is one remote.
type RemoteConfig struct {
	// URL is https://…, ssh://user@host/…, user@host:path, or file:///path. It must not contain credentials. Required.
	URL string `yaml:"url"`
	// Username for https. Default x-access-token, which suits GitHub; GitLab wants oauth2.
	Username string `yaml:"username"`
	// TokenFile holds the https token. Default: none.
	TokenFile string `yaml:"token_file"`
	// SSHKeyFile holds the private key for ssh. Required for ssh.
	SSHKeyFile string `yaml:"ssh_key_file"`
	// KnownHostsFile holds the host keys for ssh. Required for ssh.
	KnownHostsFile string `yaml:"known_hosts_file"`
	// CAFile holds certificates to trust for https beside the system's. Default: none.
	CAFile string `yaml:"ca_file"`
}

// TrustConfig says whose commits count.
type TrustConfig struct {
	// TrustedRootFile is a Sigstore trusted_root.json. It is read again when it changes, and the last good one stays in force
	// when it does not parse. Required.
	TrustedRootFile string `yaml:"trusted_root_file"`
	// TUF says where newer trusted roots come from. Default: from nowhere, the file alone.
	TUF TUFConfig `yaml:"tuf"`
	// Signers are the identities that may sign. At least one.
	Signers []SignerConfig `yaml:"signers"`
	// Binding is what ties a commit to this cluster and branch, since a signature alone does not: trailer (the tip's message
	// ends with "Gitops-Target: <cluster>/<branch>"), certificate (signers are workflows whose certificate names repository
	// and ref), or none. Required.
	Binding string `yaml:"binding"`
	// History is how much of the history must be signed: first-parent, tip or all. Default first-parent.
	History string `yaml:"history"`
	// Anchor is a commit that every accepted revision descends from. Required, unless trust_on_first_use is true.
	Anchor string `yaml:"anchor"`
	// TrustOnFirstUse accepts the first signed tip as the anchor. Default false.
	TrustOnFirstUse bool `yaml:"trust_on_first_use"`
	// NotBefore refuses commits proven to be older. Default: none.
	NotBefore time.Time `yaml:"not_before"`
	// Timestamps asks for an RFC 3161 timestamp beside the log entry: optional or required. Default optional.
	Timestamps string `yaml:"timestamps"`
	// Deny refuses what was signed by mistake or theft. Default: nothing.
	Deny DenyConfig `yaml:"deny"`
}

// SignerConfig is one identity and what it may sign.
type SignerConfig struct {
	// Name is how reports call the signer. Default: the subject.
	Name string `yaml:"name"`
	// Issuer is the OpenID Connect issuer, exactly. Required.
	Issuer string `yaml:"issuer"`
	// Subject is the mail address or workflow URI in the certificate, exactly. One of subject and subject_regexp.
	Subject string `yaml:"subject"`
	// SubjectRegexp is a pattern for the whole subject; it is always anchored.
	SubjectRegexp string `yaml:"subject_regexp"`
	// Extensions are values that the certificate of a workflow must have, exactly. Default: none.
	Extensions ExtensionsConfig `yaml:"extensions"`
	// May lists the roles: change, approve, operate (recorded, not carried out by this version), seal. Required.
	May []string `yaml:"may"`
	// Paths bounds the paths that the signer may change. Default: the whole source.
	Paths []string `yaml:"paths"`
	// Guests bounds the guests that the signer may change, as kind/name or patterns of path.Match. Default: the whole source.
	Guests []string `yaml:"guests"`
	// From (inclusive) and Until (exclusive) bound the proven time of what counts. Default: unbounded.
	From  time.Time `yaml:"from"`
	Until time.Time `yaml:"until"`
}

// ExtensionsConfig are the certificate extensions that can be asked for.
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

// DenyConfig lists what is refused although it is signed.
type DenyConfig struct {
	// Commits are full commit ids.
	Commits []string `yaml:"commits"`
	// Certificates are SHA-256 fingerprints of signing certificates, in hex.
	Certificates []string `yaml:"certificates"`
	// LogIndexes are indexes of entries in the transparency log.
	LogIndexes []int64 `yaml:"log_indexes"`
}

// ProxmoxConfig is the API of the cluster.
type ProxmoxConfig struct {
	// Endpoints are https://host:8006 of members of the cluster; a later one serves reads when an earlier one does not. At least one.
	Endpoints []string `yaml:"endpoints"`
	// TokenFile holds one line, user@realm!name=secret. Required.
	TokenFile string `yaml:"token_file"`
	// CAFile holds the cluster's certificate authority, /etc/pve/pve-root-ca.pem on a node. Default: the system's authorities.
	CAFile string `yaml:"ca_file"`
	// Fingerprints are SHA-256 fingerprints of the endpoints' certificates, as Proxmox shows them. Default: none.
	Fingerprints []string `yaml:"fingerprints"`
	// Timeout bounds one request. Default 35s, since Proxmox gives up after 30s.
	Timeout Duration `yaml:"timeout"`
	// Tick is the time between inventories. Default 15s.
	Tick Duration `yaml:"tick"`
	// Resync is the time within which every guest is read in full. Default 60s.
	Resync Duration `yaml:"resync"`
	// VMListFile is /etc/pve/.vmlist where the agent runs on a node of the cluster as root or in the group www-data: Proxmox's own list of
	// guests, with a version for each that rises with every change. A guest is read when its version changed, within a second or so,
	// and the rounds of full reads become the check of vmlist_check. While the file cannot be read, or is out of date, the agent
	// reads every guest within resync as without it, and says so. Default: none.
	VMListFile string `yaml:"vmlist_file"`
	// VMListCheck is the time within which every guest is read in full although its version did not change. Default 10 times resync.
	VMListCheck Duration `yaml:"vmlist_check"`
}

// Duration is a time.Duration that reads "30s" from YAML.
type Duration time.Duration

// UnmarshalYAML reads a positive duration with a unit.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if err != nil || parsed <= 0 {
		// This type of error is collected with the others.
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: got %q, want a duration such as 30s or 2m", node.Line, node.Value)}}
	}
	*d = Duration(parsed)
	return nil
}

// maxConfig bounds the config file.
const maxConfig = 1 << 20

// ReadConfig reads a config file strictly: an unknown field is an error. Every problem is reported at once.
func ReadConfig(path string) (Config, error) {
	file, err := os.Open(path) //nolint:gosec // the path is the operator's own
	if err != nil {
		return Config{}, fmt.Errorf("open config: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return Config{}, fmt.Errorf("read config %s: %w", path, err)
	}
	if len(data) > maxConfig {
		return Config{}, fmt.Errorf("config %s is larger than 1 MiB", path)
	}
	config, err := ParseConfig(data)
	if err != nil {
		return Config{}, fmt.Errorf("config %s: %w", path, err)
	}
	return config, nil
}

// ParseConfig parses and checks a config. The error names every problem, each with its line where it has one.
func ParseConfig(data []byte) (Config, error) {
	var c Config
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, plainly(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("more than one document: a config is one")
	}
	c.setDefaults()
	if err := c.check(); err != nil {
		return Config{}, err
	}
	return c, nil
}

var (
	unknownField = regexp.MustCompile(`^line (\d+): field (\S+) not found in type \S+$`)
	wrongShape   = regexp.MustCompile(`^line (\d+): cannot unmarshal !!(\w+)(.*) into \S+$`)
)

// plainly says what the decoder found without the names of Go types.
func plainly(err error) error {
	var several *yaml.TypeError
	if !errors.As(err, &several) {
		return err
	}
	var problems []error
	for _, text := range several.Errors {
		text = unknownField.ReplaceAllString(text, `line $1: unknown field "$2"`)
		problems = append(problems, errors.New(wrongShape.ReplaceAllString(text, `line $1: a value of type $2$3 does not fit here`)))
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
	for i := range c.Trust.Signers {
		s := &c.Trust.Signers[i]
		if s.Name == "" {
			s.Name = s.Subject + s.SubjectRegexp
		}
	}
}

// check reports everything that is missing. Trust is checked in full where the policy is made, with the trusted root at hand.
func (c *Config) check() error {
	var problems []error
	required := func(missing bool, text string) {
		if missing {
			problems = append(problems, errors.New(text))
		}
	}
	required(c.Cluster.Name == "", "cluster.name is required: the metadata.name of the repository's Cluster manifest")
	required(len(c.Source.Remotes) == 0, "source.remotes is required: at least one remote with a url")
	required(c.Trust.TrustedRootFile == "", "trust.trusted_root_file is required: a Sigstore trusted_root.json that you obtained yourself")
	required(len(c.Proxmox.Endpoints) == 0, "proxmox.endpoints is required: https://host:8006 of at least one node")
	required(c.Proxmox.TokenFile == "", "proxmox.token_file is required: a file with user@realm!name=secret")
	required(c.Parallel < 0, "parallel must be positive")
	required(c.Limits.GuestsPerNode < 0 || c.Limits.CopiesPerStorage < 0, "limits must be positive")
	return errors.Join(append(problems, c.Trust.TUF.problem())...)
}
