package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/internal/status"
)

// webhooks returns the webhooks of the config. Each secret is read at each request, so that it can be rotated.
func (c Config) webhooks() []status.Webhook {
	var webhooks []status.Webhook
	add := func(forge status.WebhookForge, field, path string) {
		webhooks = append(webhooks, status.Webhook{Forge: forge, Secret: func() (string, error) { return ReadToken(field, path) }})
	}
	if c.Source.WebhookTokenFile != "" {
		add(status.WebhookBearer, "source.webhook_token_file", c.Source.WebhookTokenFile)
	}
	for i, w := range c.Source.Webhooks {
		add(status.WebhookForge(w.Forge), fmt.Sprintf("source.webhooks[%d].secret_file", i), w.SecretFile)
	}
	return webhooks
}

// checkWebhooks returns an error for each webhook of an unknown forge, or without a secret.
func (c *Config) checkWebhooks() error {
	forges := slices.DeleteFunc(texts(status.WebhookForges()), func(f string) bool { return f == string(status.WebhookBearer) })
	var problems []error
	for i, w := range c.Source.Webhooks {
		if !slices.Contains(forges, w.Forge) {
			problems = append(problems, fmt.Errorf("source.webhooks[%d].forge: got %q, want one of %s; webhook_token_file is for other programs", i, w.Forge, strings.Join(forges, ", ")))
		}
		if w.SecretFile == "" {
			problems = append(problems, fmt.Errorf("source.webhooks[%d].secret_file is required: a file with the secret that is set at the forge", i))
		}
	}
	return errors.Join(problems...)
}

// checkWebhookSecrets returns an error for each secret that cannot be read or is empty.
func (c Config) checkWebhookSecrets() error {
	var problems []error
	for i, w := range c.Source.Webhooks {
		field := fmt.Sprintf("source.webhooks[%d].secret_file", i)
		secret, err := ReadToken(field, w.SecretFile)
		if err == nil && secret == "" {
			err = fmt.Errorf("%s: %s is empty: write a random secret into it, such as the output of openssl rand -hex 32, and set the same at the forge", field, w.SecretFile)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
