// Package renovate runs Renovate with the configuration of examples/renovate over the example manifests, beside a server that has newer checksums and a newer image.
//
// Renovate looks up and changes nothing (platform local), so the test reads what it would change from its log. The server is on loopback; npm is the only use of the
// network, before the test: .ci/long renovate installs Renovate.
package renovate
