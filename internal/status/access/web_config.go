package access

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/time/rate"
	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/manifest/tree"
)

// maxWebConfig is the upper bound of a web config file, in bytes.
const maxWebConfig = 1 << 20

// webConfig is the content of a web config file.
type webConfig struct {
	web.Config

	users *users
	rate  *rate.Limiter
}

// noWebConfig is what is in force without a file.
func noWebConfig() *webConfig { return &webConfig{rate: rate.NewLimiter(rate.Inf, 0)} }

// setHeaders sets the headers of the file.
func (c *webConfig) setHeaders(h http.Header) {
	for name, value := range c.HTTPConfig.Header {
		h.Set(name, value)
	}
}

// tls returns the TLS configuration, which is nil if the file has none. It reads the certificates.
func (c *webConfig) tls() (*tls.Config, error) {
	if !c.TLSConfig.IsEnabled() {
		return nil, nil //nolint:nilnil // plain HTTP has no configuration
	}
	config, err := web.ConfigToTLSConfig(&c.TLSConfig)
	if err != nil {
		return nil, err
	}
	certificate, err := config.GetCertificate(nil) // read once, so that a file that is being replaced cannot make a handshake fail
	if err != nil {
		return nil, err
	}
	config.GetCertificate, config.Certificates = nil, []tls.Certificate{*certificate}
	config.NextProtos = []string{"http/1.1"}
	if c.HTTPConfig.HTTP2 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	return config, nil
}

// readWebConfig reads and checks a web config file.
func readWebConfig(path string) (*webConfig, error) {
	file, err := os.Open(path) //nolint:gosec // the operator chooses the path
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxWebConfig+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxWebConfig {
		return nil, errors.New("the file is larger than 1 MiB")
	}
	if err := tree.CheckVisible(data); err != nil {
		return nil, err
	}
	if err := web.Validate(path); err != nil {
		return nil, err
	}
	c := noWebConfig()
	// The defaults of the format, which the toolkit applies before it reads a file.
	c.TLSConfig.MinVersion, c.TLSConfig.MaxVersion, c.HTTPConfig.HTTP2 = tls.VersionTLS12, tls.VersionTLS13, true
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c.Config); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	c.TLSConfig.SetDirectory(filepath.Dir(path))
	hashes := make(map[string]string, len(c.Users))
	for name, hash := range c.Users {
		hashes[name] = string(hash)
	}
	c.users = newUsers(hashes)
	if limit := c.RateLimiterConfig; limit.Interval != 0 {
		c.rate = rate.NewLimiter(rate.Every(limit.Interval), limit.Burst)
	}
	return c, nil
}

// webConfigFile is a web config file that is read again when it changes. A change that is not valid is logged, and changes nothing.
type webConfigFile struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex
	content *webConfig
	read    stamp       // of the content that was read last, valid or not
	tls     *tls.Config // the newest valid one
	tlsErr  string      // logged last
}

// stamp identifies the content of a file.
type stamp struct {
	changed time.Time
	size    int64
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

func openWebConfigFile(path string, log *slog.Logger) (*webConfigFile, error) {
	f := &webConfigFile{path: path, log: log, read: stampOf(path)}
	var err error
	if f.content, err = readWebConfig(path); err == nil {
		f.tls, err = f.content.tls()
	}
	if err != nil {
		return nil, fmt.Errorf("status.web_config_file %s: %w", path, err)
	}
	return f, nil
}

// current returns the newest valid content. Without a file it is the zero configuration.
func (f *webConfigFile) current() *webConfig {
	if f == nil {
		return noWebConfig()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refresh()
}

// refresh reads the file if it changed. The caller must hold mu.
func (f *webConfigFile) refresh() *webConfig {
	now := stampOf(f.path)
	if now == f.read {
		return f.content
	}
	f.read = now
	content, err := readWebConfig(f.path)
	if err == nil && content.TLSConfig.IsEnabled() != f.content.TLSConfig.IsEnabled() {
		err = errors.New("a change between http and https needs a restart of the agent")
	}
	if err != nil {
		f.log.Warn("web config file not valid, the previous one stays in force", "file", f.path, "error", err)
		return f.content
	}
	f.log.Info("web config file read again", "file", f.path)
	f.content = content
	return content
}

// authenticates reports whether the file lets only known clients in.
func (f *webConfigFile) authenticates() bool {
	if f == nil {
		return false
	}
	c := f.current()
	return len(c.Users) > 0 || c.TLSConfig.ClientAuth == "RequireAndVerifyClientCert"
}

// handshake returns the TLS configuration for a connection. The certificates are read for each one, so that they can be renewed; while they are not valid, the
// previous ones stay in force.
func (f *webConfigFile) handshake(*tls.ClientHelloInfo) (*tls.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	config, err := f.refresh().tls()
	switch {
	case err == nil:
		f.tls, f.tlsErr = config, ""
	case err.Error() != f.tlsErr:
		f.tlsErr = err.Error()
		f.log.Warn("certificates of the status page not valid, the previous ones stay in force", "error", err)
	}
	return f.tls, nil
}

// listener returns a listener for TLS on a listener, or that listener if the file has no TLS.
func (f *webConfigFile) listener(plain net.Listener) net.Listener {
	if f == nil {
		return plain
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tls == nil {
		return plain
	}
	config := f.tls.Clone()
	config.GetConfigForClient = f.handshake
	return tls.NewListener(plain, config)
}
