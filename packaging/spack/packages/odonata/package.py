# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

"""Odonata for Spack. There is no released archive yet, so that it is built from a clone:

spack repo add packaging/spack
spack dev-build odonata@0.1.0          # or odonata@0.1.0+mpi ^mpich
"""

from spack.package import *


class Odonata(PythonPackage):
    """Packet-level simulation of a supercomputer's network and storage, and of the jobs that share them."""

    license("Apache-2.0 AND MIT")

    version("0.1.0")

    variant("mpi", default=False, description="Runs over several processes")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-maturin@1.9.4:1", type="build")
    depends_on("py-annotated-types@0.7:0", type=("build", "run"))
    depends_on("py-click@8.5:8", type=("build", "run"))
    depends_on("py-jinja2@3.1.4:3", type=("build", "run"))
    depends_on("py-matplotlib@3.8:3", type=("build", "run"))
    depends_on("py-numpy@1.26:2", type=("build", "run"))
    depends_on("py-pandas@2.2:3", type=("build", "run"))
    depends_on("py-platformdirs@4", type=("build", "run"))
    depends_on("py-pyarrow@17:26", type=("build", "run"))
    depends_on("py-pydantic@2.11:2", type=("build", "run"))
    depends_on("py-rich@13.7:15", type=("build", "run"))
    depends_on("py-typing-extensions@4.12:4", type=("build", "run"))
    depends_on("py-perfetto@0.59:0", type=("build", "run"))
    depends_on("py-protobuf@6.31.1:7", type=("build", "run"))

    with when("+mpi"):
        depends_on("mpi")
        # The bindings are generated from the headers of the MPI library.
        depends_on("llvm+clang", type="build")

    def config_settings(self, spec, prefix):
        """Arguments of maturin."""
        features = " --features mpi" if spec.satisfies("+mpi") else ""
        return {"build-args": f"--profile wheel{features}"}

    def setup_build_environment(self, env):
        """The compiler wrapper names the MPI library."""
        if self.spec.satisfies("+mpi"):
            env.set("MPICC", self.spec["mpi"].mpicc)
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)
