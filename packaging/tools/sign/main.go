// Command sign signs a file for a Sigstore bundle, which cosign and other clients verify. It signs with a key, or without one as an identity of an OpenID Connect
// issuer, whose token is in the environment variable SIGSTORE_ID_TOKEN.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var opts options
	flag.StringVar(&opts.key, "key", "", "file with an ECDSA key on the curve P-256 in PEM, without a passphrase; by default the identity of the token signs")
	flag.StringVar(&opts.services, "signing-config", "", "signing_config.json of the Sigstore that certifies and logs identities; by default the public one")
	flag.StringVar(&opts.trust, "trusted-root", "", "trusted_root.json of that Sigstore; by default the public one")
	flag.Parse()
	opts.token = os.Getenv("SIGSTORE_ID_TOKEN")
	opts.file, opts.out = flag.Arg(0), flag.Arg(1)
	if err := run(ctx, opts); err != nil {
		fmt.Fprintln(os.Stderr, "sign:", err)
		os.Exit(1)
	}
}

type options struct {
	key, token, services, trust string
	file, out                   string
}

func run(ctx context.Context, opts options) error {
	if opts.file == "" || opts.out == "" {
		return errors.New("usage: sign [-key FILE | -signing-config FILE -trusted-root FILE] FILE BUNDLE")
	}
	content, err := os.ReadFile(opts.file)
	if err != nil {
		return err
	}
	var signer sign.Keypair
	with := sign.BundleOptions{Context: ctx}
	if opts.key != "" {
		signer, err = readKey(opts.key)
	} else {
		signer, err = keyless(opts, &with)
	}
	if err != nil {
		return err
	}
	bundle, err := sign.Bundle(&sign.PlainData{Data: content}, signer, with)
	if err != nil {
		return err
	}
	text, err := protojson.Marshal(bundle)
	if err != nil {
		return err
	}
	return os.WriteFile(opts.out, append(text, '\n'), 0o644)
}

// The bounds of requests to the services. A log answers once the entry is in its tree.
const (
	requestTimeout = 30 * time.Second
	logTimeout     = 90 * time.Second
	retries        = 2
)

// keyless makes a key for this signature, and names the services that certify it for the token's identity and record it. The bundle is verified before it is
// returned.
func keyless(opts options, with *sign.BundleOptions) (sign.Keypair, error) {
	if opts.token == "" {
		return nil, errors.New("want -key, or a token in SIGSTORE_ID_TOKEN")
	}
	services, trusted, err := sigstore(opts)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	authority, err := root.SelectService(services.FulcioCertificateAuthorityURLs(), sign.FulcioAPIVersions, now)
	if err != nil {
		return nil, fmt.Errorf("select a certificate authority: %w", err)
	}
	with.TrustedRoot = trusted
	with.CertificateProvider = sign.NewFulcio(&sign.FulcioOptions{BaseURL: authority.URL, Timeout: requestTimeout, Retries: retries})
	with.CertificateProviderOptions = &sign.CertificateProviderOptions{IDToken: opts.token}
	if len(services.TimestampAuthorityURLs()) > 0 {
		selected, err := root.SelectServices(services.TimestampAuthorityURLs(), services.TimestampAuthorityURLsConfig(), sign.TimestampAuthorityAPIVersions, now)
		if err != nil {
			return nil, fmt.Errorf("select a timestamp authority: %w", err)
		}
		for _, s := range selected {
			with.TimestampAuthorities = append(with.TimestampAuthorities, sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{URL: s.URL, Timeout: requestTimeout, Retries: retries}))
		}
	}
	logs, err := root.SelectServices(services.RekorLogURLs(), services.RekorLogURLsConfig(), sign.RekorAPIVersions, now)
	if err != nil {
		return nil, fmt.Errorf("select a transparency log: %w", err)
	}
	for _, s := range logs {
		with.TransparencyLogs = append(with.TransparencyLogs, sign.NewRekor(&sign.RekorOptions{BaseURL: s.URL, Timeout: logTimeout, Retries: retries, Version: s.MajorAPIVersion}))
	}
	return sign.NewEphemeralKeypair(nil)
}

// sigstore returns the services and the trusted root of the Sigstore of the options.
func sigstore(opts options) (*root.SigningConfig, root.TrustedMaterial, error) {
	if (opts.services == "") != (opts.trust == "") {
		return nil, nil, errors.New("want -signing-config and -trusted-root of the same Sigstore, or neither")
	}
	if opts.services == "" {
		services, err := root.FetchSigningConfig()
		if err != nil {
			return nil, nil, fmt.Errorf("fetch the signing config of the public Sigstore: %w", err)
		}
		trusted, err := root.FetchTrustedRoot()
		return services, trusted, err
	}
	services, err := root.NewSigningConfigFromPath(opts.services)
	if err != nil {
		return nil, nil, err
	}
	trusted, err := root.NewTrustedRootFromPath(opts.trust)
	return services, trusted, err
}
