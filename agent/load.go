// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package agent

import (
	"errors"
	"log/slog"
)

// LoadConfig reads a file: that path, else $PICKET_AGENT_CONFIG, else /etc/picket/agent.toml. Its error is an ErrConfig with a
// line for each thing that is wrong.
func LoadConfig(path string) (Config, error) {
	c, _, err := loadConfig(path)
	return c, err
}

// CheckConfig says all that is wrong with a file, as LoadConfig does, and with what it names, as Check does.
func CheckConfig(path string, log *slog.Logger) error {
	c, read, err := loadConfig(path)
	if !read {
		return err
	}
	return errors.Join(err, c.Check(log))
}
