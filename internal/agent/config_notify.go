package agent

// NotificationsConfig defines who is told about events of the agent.
type NotificationsConfig struct {
	// StatusURL is the address of the status page for links in messages, https://host/path. Default: no link.
	StatusURL string `yaml:"status_url"`
	// Receivers are the places to which messages are sent.
	Receivers []ReceiverConfig `yaml:"receivers"`
	// Routes select events for receivers. Each route that selects an event sends it. A receiver without a route gets nothing but tests.
	Routes []RouteConfig `yaml:"routes"`
}

// ReceiverConfig is a place to which messages are sent.
type ReceiverConfig struct {
	// Name is the name for routes, logs and "gitops-agent notify test". Required.
	Name string `yaml:"name"`
	// Type is webhook (a POST with a CloudEvent), ntfy, email, or shoutrrr (Slack, Discord, Teams, Telegram, Matrix, Gotify and others by a URL of shoutrrr).
	// Required.
	Type string `yaml:"type"`
	// URL is the address of a webhook, of a topic of ntfy, or of shoutrrr. Exactly one of url and url_file is required, except for email.
	URL string `yaml:"url"`
	// URLFile is a file with the address, for one that contains secrets, which those of shoutrrr do. It is read for each message.
	URLFile string `yaml:"url_file"`
	// TokenFile is a file with a token for "Authorization: Bearer", for webhook and ntfy. It is read for each message. Default: none.
	TokenFile string `yaml:"token_file"`
	// CAFile is a file with certificates that are trusted in addition to those of the system, for webhook, ntfy and email. Default: none.
	CAFile string `yaml:"ca_file"`
	// Timeout bounds an attempt to send a message. Default 15s.
	Timeout Duration `yaml:"timeout"`
	// Email are the settings of email.
	Email EmailConfig `yaml:"email"`
}

// EmailConfig are the settings of a mail server.
type EmailConfig struct {
	// Address is the mail server, host:port. Required.
	Address string `yaml:"address"`
	// TLS is starttls (required after the greeting), tls (from the first byte) or none (only without a username). Default starttls.
	TLS string `yaml:"tls"`
	// From is the sender. Required.
	From string `yaml:"from"`
	// To are the recipients. Required.
	To []string `yaml:"to"`
	// Username is the user of the mail server. Default: none, no login.
	Username string `yaml:"username"`
	// PasswordFile is a file with the password. Required with username.
	PasswordFile string `yaml:"password_file"`
}

// RouteConfig selects events for a receiver. What it does not name selects everything, except for events.
type RouteConfig struct {
	// Receiver is the name of a receiver. Required.
	Receiver string `yaml:"receiver"`
	// Events are names of events, or patterns such as "guest.*". Default: those about revisions, holds, guests and outages, see docs/events.md.
	Events []string `yaml:"events"`
	// Severity is the lowest severity that is sent: info, warning or error. Default info.
	Severity string `yaml:"severity"`
	// Guests are guests as kind/name or as patterns. Events without a guest do not match. Default: every event.
	Guests []string `yaml:"guests"`
	// Tags are tags of guests, of which a guest must have one. Events without a guest do not match. Default: every event.
	Tags []string `yaml:"tags"`
	// GroupWait is how long events are collected for one message. Default 2s.
	GroupWait Duration `yaml:"group_wait"`
	// RepeatInterval is the time after which a problem that still exists is sent again. Default 24h.
	RepeatInterval Duration `yaml:"repeat_interval"`
	// QuietHours are times at which only errors are sent; the other events follow afterwards. Default: none.
	QuietHours []QuietHoursConfig `yaml:"quiet_hours"`
}

// QuietHoursConfig is a time of the day. If until is not after from, it ends on the next day.
type QuietHoursConfig struct {
	// From is the time at which it begins, such as "22:00". Required.
	From string `yaml:"from"`
	// Until is the time at which it ends. Required.
	Until string `yaml:"until"`
	// Days are the days on which it begins: mon, tue, wed, thu, fri, sat, sun. Default: every day.
	Days []string `yaml:"days"`
	// Timezone is a name such as Europe/Berlin. Default: that of the host.
	Timezone string `yaml:"timezone"`
}
