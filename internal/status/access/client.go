package access

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
)

// ClientTLS returns the TLS configuration with which a client on the same host reaches the status page, or nil if the web config file has no TLS or there is
// no file. The client trusts only the certificate of that file, under the name that the certificate has.
func ClientTLS(webConfigFile string) (*tls.Config, error) {
	if webConfigFile == "" {
		return nil, nil //nolint:nilnil // plain HTTP has no configuration
	}
	content, err := readWebConfig(webConfigFile)
	if err != nil {
		return nil, fmt.Errorf("status.web_config_file %s: %w", webConfigFile, err)
	}
	server, err := content.tls()
	if err != nil || server == nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(server.Certificates[0].Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("status.web_config_file %s: %w", webConfigFile, err)
	}
	client := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	client.RootCAs.AddCert(leaf)
	switch {
	case len(leaf.DNSNames) > 0:
		client.ServerName = leaf.DNSNames[0]
	case len(leaf.IPAddresses) > 0:
		client.ServerName = leaf.IPAddresses[0].String()
	}
	return client, nil
}
