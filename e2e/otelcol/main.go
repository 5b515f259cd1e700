// SPDX-License-Identifier: Apache-2.0

// Command otelcol is an OpenTelemetry collector with as few parts as docs/export.md needs: the receiver that watches objects of
// Kubernetes, the processor that shapes their records, and an exporter that prints each batch of records as a line of JSON.
package main

import (
	"context"
	"log"
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/transformprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/k8sobjectsreceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/receiver"
)

func print(_ context.Context, logs plog.Logs) error {
	text, err := (&plog.JSONMarshaler{}).MarshalLogs(logs)
	if err == nil {
		// One write, so that nothing of the collector's own log comes in between.
		_, err = os.Stdout.Write(append(text, '\n'))
	}
	return err
}

func newPrinter(ctx context.Context, set exporter.Settings, config component.Config) (exporter.Logs, error) {
	return exporterhelper.NewLogsExporter(ctx, set, config, print)
}

func factories() (otelcol.Factories, error) {
	objects, transform := k8sobjectsreceiver.NewFactory(), transformprocessor.NewFactory()
	printer := exporter.NewFactory(component.MustNewType("print"), func() component.Config { return &struct{}{} },
		exporter.WithLogs(newPrinter, component.StabilityLevelDevelopment))
	return otelcol.Factories{
		Receivers:  map[component.Type]receiver.Factory{objects.Type(): objects},
		Processors: map[component.Type]processor.Factory{transform.Type(): transform},
		Exporters:  map[component.Type]exporter.Factory{printer.Type(): printer},
	}, nil
}

func main() {
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Description: "collector of the tests", Version: "0"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
			DefaultScheme:     "file",
		}},
	})
	if err := command.Execute(); err != nil {
		log.Fatal(err)
	}
}
