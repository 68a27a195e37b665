import os
import random
import time

lote = int(os.environ.get("TAM_LOTE", "16"))
TOTAL = 5000


def coma(x):
    return ("%.3f" % x).replace(".", ",")


print("Cargando datos: 42 archivos")
print(f"Tamaño de lote: {lote}")
for paso in range(1, TOTAL + 1):
    time.sleep(0.015 + 0.00025 * lote)
    print(f"[{time.strftime('%H:%M:%S')}] Paso {paso} de {TOTAL} | pérdida {coma(random.random())} | tasa 0,001")
    if paso % 80 == 0:
        print("Validación en curso…")
        time.sleep(0.3)
        print(f"Validación terminada: exactitud {coma(random.random())}")
