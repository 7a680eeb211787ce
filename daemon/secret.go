// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/picketd/picket/notifier/channel"
)

// maxNamed is how long a file may be that the configuration names, in bytes.
const maxNamed = 64 << 10

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

// readNamed reads a file that the configuration names, at most a byte more than maxNamed of it. what it is stands in errors.
func readNamed(what, name string) (path string, b []byte, err error) {
	if path, err = credentialPath(name); err != nil {
		return "", nil, err
	}
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		b, err = io.ReadAll(io.LimitReader(f, maxNamed+1))
	}
	if err != nil {
		err = fmt.Errorf("cannot read the %s: %w", what, err)
	}
	return path, b, err
}

// readSecret reads one line without its end. Its errors never hold what it read.
func readSecret(name string) (string, error) {
	path, b, err := readNamed("secret", name)
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	switch {
	case err != nil && path != "" && path != name && filepath.Dir(path) != packagedCredentials:
		return "", fmt.Errorf("%w; systemd hands over credentials when the service starts: restart it", err)
	case err != nil:
		return "", err
	case len(b) == 0:
		return "", fmt.Errorf("%s is empty: write the secret into it", path)
	case len(b) > maxNamed:
		return "", fmt.Errorf("%s is longer than a secret of %d bytes", path, maxNamed)
	case bytes.ContainsAny(b, "\x00\r\n"):
		return "", fmt.Errorf("%s has more than one line: write the secret alone", path)
	}
	return string(b), nil
}

// files are those that a channel's configuration names.
type files struct{ staleCredentials bool }

// Secret is a secret's line.
func (f files) Secret(name string) (string, error) { return f.read(name, readSecret) }

// Template is a whole template.
func (f files) Template(name string) (string, error) { return f.read(name, readTemplate) }

func (f files) read(name string, read func(string) (string, error)) (string, error) {
	if f.staleCredentials && !filepath.IsAbs(name) {
		return "", channel.ErrUnread
	}
	return read(name)
}

func readTemplate(name string) (string, error) {
	path, b, err := readNamed("template", name)
	switch {
	case err != nil:
		return "", err
	case len(b) == 0:
		return "", fmt.Errorf("%s is empty: write a template into it, or take the key away", path)
	case len(b) > maxNamed:
		return "", fmt.Errorf("%s is longer than a template of %d bytes", path, maxNamed)
	}
	return string(b), nil
}
