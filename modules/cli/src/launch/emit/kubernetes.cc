// SPDX-License-Identifier: Apache-2.0
// Writes an Indexed Job of Kubernetes (1.27 and later), its headless service, and a claim of a volume for checkpoints.
#include <algorithm>

#include "launch/emit/emit_job.h"
#include "launch/emit/quoting.h"

namespace shoal::cli::launch {
namespace {

constexpr std::string_view kService = R"(# The names by which the pods of job @name@ find each other.
apiVersion: v1
kind: Service
metadata:
  name: "@name@-tasks"
spec:
  clusterIP: None
  publishNotReadyAddresses: true  # tasks meet before they are ready
  selector:
    job-name: "@name@"
)";

constexpr std::string_view kVolume = R"(# Where job @name@ keeps its checkpoints. All pods write there: ReadWriteMany.
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: "@name@-model"
spec:
  accessModes: [ReadWriteMany]
  resources:
    requests:
      storage: 10Gi
)";

constexpr std::string_view kJob = R"(# A job of @size@, by shoal launch --emit kubernetes. The image holds the program, and
# shoal in a folder of its PATH. Once, the secret by which the tasks know each other:
#
#   shoal keys token | kubectl create secret generic @name@-token --from-file=token=/dev/stdin
#
# Then
#
#   kubectl apply -f FILE                   the file (or folder) that this stands in
#   kubectl get pods -l job-name=@name@      READY 1/1: the job trains
#   kubectl logs -f -l job-name=@name@ --prefix --max-log-requests @tasks@
#
# docs/how-to/batch-systems.md has more.
apiVersion: batch/v1
kind: Job
metadata:
  name: "@name@"  # in quotes, since no, on and null are names, too
spec:
  completionMode: Indexed
  completions: @tasks@
  parallelism: @tasks@
  backoffLimit: @restarts@
  podFailurePolicy:
    rules:
    - action: Ignore  # the node is drained, or wants its memory back
      onPodConditions:
      - type: DisruptionTarget
        status: "True"
    - action: Ignore  # the task gave way to a SIGTERM, and the next pod goes on from its checkpoint
      onExitCodes:
        containerName: shoal
        operator: In
        values: [143]
    - action: FailJob  # wrong usage, a loss that is not a number, damaged data: no restart mends these
      onExitCodes:
        containerName: shoal
        operator: In
        values: [2, 3, 4]
  template:
    spec:
      subdomain: "@name@-tasks"
      restartPolicy: Never  # the Job replaces a failed pod by another one
      terminationGracePeriodSeconds: @stop_secs@
      automountServiceAccountToken: false
      enableServiceLinks: false
      containers:
      - name: shoal
        image: @image@
        command: @command@
        env:
        - name: SHOAL_WORLD_SIZE
          value: "@tasks@"
        - name: SHOAL_SERVICE
          value: "@name@-tasks"
        - name: SHOAL_PS
          value: "@ps@"
        - name: SHOAL_EVALUATOR
          value: "@evaluator@"
        - name: SHOAL_ON_SIGTERM
          value: leave  # a pod that is deleted or drained saves, and does not count as done
        - name: SHOAL_RUN
          valueFrom:
            fieldRef:
              fieldPath: metadata.labels['batch.kubernetes.io/controller-uid']
        - name: SHOAL_TOKEN
          valueFrom:
            secretKeyRef:
              name: "@name@-token"
              key: token
        livenessProbe:
          exec:
            command: [shoal, status, --live]
          initialDelaySeconds: 60
          periodSeconds: 20
          timeoutSeconds: 10
          failureThreshold: 6
        readinessProbe:
          exec:
            command: [shoal, status, --ready]
          periodSeconds: 10
          timeoutSeconds: 10
        securityContext:
          allowPrivilegeEscalation: false
        volumeMounts:
        - name: model
          mountPath: @model_dir@
      volumes:
      - name: model
        persistentVolumeClaim:
          claimName: "@name@-model"
)";

}  // namespace

std::vector<EmittedFile> emit_kubernetes(const EmitJob& job) {
  const int64_t restarts = int64_t(job.policy.max_restarts) * job.size.tasks();
  return {{job.name + "-service.yaml", filled(kService, {{"name", job.name}})},
          {job.name + "-volume.yaml", filled(kVolume, {{"name", job.name}})},
          {job.name + "-job.yaml", filled(kJob, {{"name", job.name},
                                                 {"size", "chief," + to_string(job.size)},
                                                 {"tasks", std::to_string(job.size.tasks())},
                                                 {"ps", std::to_string(job.size.ps)},
                                                 {"evaluator", job.size.evaluator ? "1" : "0"},
                                                 {"restarts", std::to_string(std::min<int64_t>(restarts, INT32_MAX))},
                                                 {"stop_secs", std::to_string(stop_secs(job))},
                                                 {"image", yaml_text(job.image)},
                                                 {"command", yaml_list(without_variables(job.command))},
                                                 {"model_dir", yaml_text(job.model_dir)}})}};
}

}  // namespace shoal::cli::launch
