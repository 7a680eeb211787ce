// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/urfave/cli/v2"

	"github.com/picketd/picket/agent/plain"
	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/daemon"
)

// stopTimeout bounds the clean stop of picket dev.
const stopTimeout = 10 * time.Second

func daemonCommand() *cli.Command {
	return &cli.Command{
		Name:  "daemon",
		Usage: "run the daemon of this host",
		Flags: []cli.Flag{
			configFlag(),
			&cli.BoolFlag{Name: "activated", Usage: "take the sockets that systemd passes, and make none"},
			&cli.BoolFlag{Name: "check", Usage: "only check the configuration, with the caller's rights, and in Redis, if it answers, the layout of the data and the user's permissions; exits with 78 when something is wrong"},
			&cli.BoolFlag{Name: "stale-credentials", Usage: "with --check: read no systemd credentials, which are those of the last start"},
		},
		Action: func(c *cli.Context) error {
			load := daemon.LoadConfig
			if c.Bool("stale-credentials") {
				if !c.Bool("check") {
					return exitf(exitUsage, "--stale-credentials goes with --check only")
				}
				load = daemon.LoadConfigStaleCredentials
			}
			config, err := load(c.String("config"))
			if c.Bool("check") && filepath.IsAbs(config.StateDir) {
				running, _ := strconv.Atoi(os.Getenv("MAINPID")) // which systemd sets for a reload
				err = errors.Join(err, config.CheckState(running))
			}
			if err != nil {
				if !c.Bool("check") {
					daemon.RefuseStart(err)
				}
				return configError(err)
			}
			if c.Bool("check") {
				if !c.Bool("stale-credentials") { // one of them may be Redis' password
					err = config.CheckRedis(c.Context)
				}
				if err != nil {
					return configError(err)
				}
				warnings := config.Warnings()
				for _, warning := range warnings {
					fmt.Fprintf(c.App.ErrWriter, "%spicket: warning: %s\n", priority(journal.PriWarning), clean(warning))
				}
				return printGood(c.App.Writer, len(warnings))
			}
			daemon.OutliveReader()
			d, err := daemon.New(config, daemon.Options{Activated: c.Bool("activated")})
			if err != nil {
				daemon.RefuseStart(err)
				return configError(err)
			}
			boundMemory()
			defer reloadOnHUP(d)()
			ctx, stop := untilSignal(c.Context)
			defer stop()
			return configError(d.Run(ctx))
		},
	}
}

// printGood says that a daemon, or a run, could begin.
func printGood(w io.Writer, warnings int) error {
	good := "The configuration is good."
	if warnings > 0 {
		good = fmt.Sprintf("The configuration is good, with %s.", plain.Count(warnings, "warning", "warnings"))
	}
	_, err := fmt.Fprintln(w, good)
	return err
}

// memoryGoal is from where on memory is collected more eagerly, in bytes: more than a daemon needs, and what calls may hold at once.
const memoryGoal = 192 << 20

// memoryGrowth is by how many percent memory grows over what is in use until it is collected. Under load that is more often than by
// Go's default, 100, and saves some MB.
const memoryGrowth = 75

// boundMemory sets both, unless GOMEMLIMIT or GOGC do.
func boundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(memoryGrowth)
	}
}

// auditMarks are those of this host's daemon.
func auditMarks() ([]audit.Mark, error) { return daemon.AuditMarks("") }

func configFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "config", Usage: "the configuration, a `FILE`; default: /etc/picket/picket.toml", EnvVars: []string{"PICKET_CONFIG"},
		TakesFile: true,
	}
}

// canonicalAsset is an asset as the audit names it: a host name in lower case, an address in its usual form.
func canonicalAsset(asset string) (string, error) { return daemon.CanonicalAsset(asset) }

// configError gives what is wrong with the configuration its exit code.
func configError(err error) error {
	if errors.Is(err, daemon.ErrConfig) {
		return &exitError{exitConfig, err.Error()}
	}
	return err
}

// untilSignal is a context that INT and TERM end; a second one ends the process at once.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// reloadOnHUP reloads at each HUP until stop is called, which waits for a reload that is under way.
func reloadOnHUP(d *daemon.Daemon) (stop func()) {
	hups, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hups, syscall.SIGHUP)
	go func() {
		defer close(ended)
		for range hups {
			_ = d.Reload() // which logs what came of it
		}
	}()
	return func() {
		signal.Stop(hups)
		close(hups)
		<-ended
	}
}

func devCommand() *cli.Command {
	return &cli.Command{
		Name:  "dev",
		Usage: "try Picket: a daemon with a Redis of its own, nothing to install, nothing kept",
		Flags: []cli.Flag{&cli.StringFlag{Name: "socket", Usage: "the daemon's socket, a `PATH`; default: in a folder of its own"}},
		Action: func(c *cli.Context) (err error) {
			dev, err := daemon.NewDev()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(dev.Dir)) }()
			if socket := c.String("socket"); socket != "" {
				dev.Config.Socket.Path = socket
			}
			ctx, stop := untilSignal(c.Context)
			defer stop()
			return runDev(ctx, dev, c.App.Writer)
		},
	}
}

// runDev runs the embedded Redis and a daemon until ctx is done or one of them fails.
func runDev(ctx context.Context, dev daemon.Dev, out io.Writer) (err error) {
	redis, err := startEmbeddedRedis(dev.RedisAddr, dev.RedisPassword)
	if err != nil {
		return err
	}
	defer redis.stop()
	audit, err := os.OpenFile(dev.AuditFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer audit.Close()
	d, err := daemon.New(dev.Config, daemon.Options{Output: out, Audit: audit})
	if err != nil {
		return configError(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err = errors.Join(err, d.Stop(ctx))
	}()
	if err := d.Start(); err != nil {
		return err
	}
	dev.PrintBanner(out)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		served <- servePages(ctx, dev.Config.Socket.Path, "127.0.0.1:0", false, "Or open the pages in a browser: ", out)
	}()
	select {
	case err := <-served:
		return err
	case <-redis.ended:
		cancel()
		return errors.Join(errors.New("the embedded Redis has ended"), <-served)
	}
}

func embeddedRedisCommand() *cli.Command {
	return &cli.Command{
		Name:   "embedded-redis",
		Hidden: true,
		Usage:  "serve an in-memory Redis until standard input closes; its first line is the password",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "addr", Usage: "`HOST:PORT` or unix:///PATH"}},
		Action: func(c *cli.Context) error {
			var password string
			if _, err := fmt.Fscanln(c.App.Reader, &password); err != nil {
				return exitf(exitUsage, "a password is needed on the first line of standard input")
			}
			ctx, cancel := context.WithCancel(c.Context)
			defer cancel()
			go func() {
				_, _ = io.Copy(io.Discard, c.App.Reader) // until whoever started this process ends, or closes it
				cancel()
			}()
			return daemon.RunEmbeddedRedis(ctx, c.String("addr"), password)
		},
	}
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print it as one JSON object"}},
		Action: func(c *cli.Context) error {
			v := daemon.Version()
			return answer(c, v, nil, func(w io.Writer) {
				fmt.Fprintf(w, "picket %s (commit %s, %s)\n", v.Version, v.Commit, v.GoVersion)
			})
		},
	}
}

func buildVersion() string { return daemon.Version().Version }
