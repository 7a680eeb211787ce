// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const maxSecret = 64 << 10 // bytes

// packagedCredentials is where picketd.service takes its credentials from: picket_NAME is the file NAME there.
const packagedCredentials = "/etc/picket/credentials"

// credentialPath is where a file of the configuration is: a relative name is a systemd credential (LoadCredential=). Outside of
// the service, those of picketd.service are read where it takes them from, if the caller may.
func credentialPath(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if file, ok := strings.CutPrefix(name, "picket_"); ok && dir == "" {
		dir, name = packagedCredentials, file
	}
	if dir == "" {
		return "", fmt.Errorf("%q is relative, the name of a systemd credential, but $CREDENTIALS_DIRECTORY is not set: write an absolute path, or give the unit LoadCredential=", name)
	}
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q leads out of $CREDENTIALS_DIRECTORY: write the credential's name, or an absolute path", name)
	}
	return filepath.Join(dir, name), nil
}

// readSecret reads one line without its end. Its errors never hold what it read.
func readSecret(name string) (string, error) {
	path, err := credentialPath(name)
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil && name != path && filepath.Dir(path) != packagedCredentials {
		return "", fmt.Errorf("cannot read the secret: %w; systemd hands over credentials when the service starts: restart it", err)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the secret: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the secret: %w", err)
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	switch {
	case len(b) == 0:
		return "", fmt.Errorf("%s is empty: write the secret into it", path)
	case len(b) > maxSecret:
		return "", fmt.Errorf("%s is longer than a secret of %d bytes", path, maxSecret)
	case bytes.ContainsAny(b, "\x00\r\n"):
		return "", fmt.Errorf("%s has more than one line: write the secret alone", path)
	}
	return string(b), nil
}

// Warnings tell what is allowed and unwise, a sentence each, with the key that it is about.
func (c Config) Warnings() []string {
	var w []string
	if open, err := writableByOthers(c.StateDir); err == nil && open {
		w = append(w, fmt.Sprintf("state_dir: other users may change what is in %s, where the outbox is: chmod go-w it", c.StateDir))
	}
	if open, err := writableByOthers(c.path); err == nil && open {
		w = append(w, fmt.Sprintf("%s: other users may change the configuration: chmod go-w it", c.path))
	}
	secret := func(key, name string) {
		if name != "" && exposed(name) {
			w = append(w, fmt.Sprintf("%s: %s can be read by every user of this host: chmod o-r it", key, name))
		}
	}
	secret("redis.password_file", c.Redis.PasswordFile)
	secret("redis.sentinel.password_file", c.Redis.Sentinel.PasswordFile)
	if c.Redis.TLS != nil {
		secret("redis.tls.key_file", c.Redis.TLS.KeyFile)
	}
	for i, ch := range c.Channels {
		secret(fmt.Sprintf("channel[%d].secret_file", i), ch.SecretFile)
		secret(fmt.Sprintf("channel[%d].url_file", i), ch.URLFile)
		secret(fmt.Sprintf("channel[%d].proxy_file", i), ch.ProxyFile)
		secret(fmt.Sprintf("channel[%d].password_file", i), ch.PasswordFile)
		if ch.URL != "" && slices.Contains(robotTypes, ch.Type) {
			w = append(w, fmt.Sprintf("channel[%d].url: the URL of a robot is a secret: write it into a file of its own, and that as url_file", i))
		}
		if ch.Insecure {
			w = append(w, fmt.Sprintf("channel[%d].insecure: what goes out on %q can be read by anybody on the way", i, ch.Name))
		}
	}
	return w
}

// writableByOthers reports whether group or all may write a file or a folder.
func writableByOthers(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return info.Mode()&0o022 != 0, nil
}

// exposed reports whether every user of the host may read the file. Errors are told where the file is read.
func exposed(name string) bool {
	path, err := credentialPath(name)
	if err != nil {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o004 != 0
}
